/** Every route of the console, with the role that it needs. The tests check each row. */

import { setLogo, showLogo, showPreview } from './pages/application-look.ts';
import {
  addApplicationGroup,
  changeApplicationGroup,
  endSession,
  inviteByForm,
  revokeInvitationByForm,
  showApplicationGroups,
  showInvitations,
  showSessions,
} from './pages/application-people.ts';
import { APPLICATION_USER_ACTIONS, showApplicationUsers } from './pages/application-users.ts';
import {
  APPLICATION_ACTIONS,
  createApplicationByForm,
  endClientByForm,
  showApplication,
  showApplications,
  showDeleteApplication,
  showNewApplication,
} from './pages/applications.ts';
import { showApplicationAttempts, showAttempts, showUserAttempts } from './pages/attempts.ts';
import { ATTENDEE_ACTIONS, importByForm, showAttendees, showImport } from './pages/attendees.ts';
import { exportAudit, showAudit } from './pages/audit.ts';
import { redeliverByForm, showDeliveries, showDelivery } from './pages/deliveries.ts';
import {
  checkInByForm,
  createEventByForm,
  deleteEventByForm,
  editEventByForm,
  exportCheckIns,
  showDeleteEvent,
  showDoorFigures,
  showEditEvent,
  showEvent,
  showEvents,
  showRefusals,
  undoCheckInByForm,
} from './pages/events.ts';
import { createGroupByForm, GROUP_ACTIONS, showDeleteGroup, showGroup, showGroups } from './pages/groups.ts';
import { showHealth, testMail } from './pages/health.ts';
import { importUsers, showImportUsers } from './pages/import-users.ts';
import { createKey, revokeKey, rotateKey, showKeys, showRevokeKey, showRotateKey } from './pages/keys.ts';
import { showOverview } from './pages/overview.ts';
import { makeRecoveryLink, revokeRecoveryLinkByForm, showRecovery } from './pages/recovery.ts';
import { search } from './pages/search.ts';
import { showUserApplications, USER_ACCESS_ACTIONS } from './pages/user-access.ts';
import { showUserSessions } from './pages/user-activity.ts';
import {
  showRemoveIdentity,
  showRemovePasskey,
  showRemoveWallet,
  showResetFactor,
  WAY_ACTIONS,
} from './pages/user-ways.ts';
import {
  createUserByForm,
  END_USER_ACTIONS,
  showDeactivate,
  showDeleteUser,
  showEraseUser,
  showNewUser,
  showUser,
  showUsers,
  USER_ACTIONS,
} from './pages/users.ts';
import {
  createWebhookByForm,
  showDeleteWebhook,
  showRedeliver,
  showRotateSigningKey,
  showWebhook,
  showWebhooks,
  WEBHOOK_ACTIONS,
} from './pages/webhooks.ts';
import { sendOffers } from './parts/named-things.ts';
import { type ConsoleRoute, get, getAndPost, post } from './route.ts';
import { endSignIn, finishSignIn, followLink, startSignIn } from './sign-in.ts';

const SENSITIVE = { isSensitive: true } as const;
const RECOVER = { isSensitive: true, needsRecover: true } as const;

export const ROUTES: readonly ConsoleRoute[] = [
  get('anyone', '/login', startSignIn),
  get('anyone', '/callback', finishSignIn),
  post('anyone', '/callback', followLink),
  post('anyone', '/sign-out', endSignIn),
  // Needs no handler, because every request renews the session.
  post('viewer', '/renew', async () => ({ redirect: '/' }), undefined, { isForTeams: true }),
  get('viewer', '/', showOverview, { isForTeams: true }),
  get('viewer', '/search', search),
  get('viewer', '/health', (request) => showHealth(request)),
  post('support', '/health/test-mail', testMail, (request) => showHealth(request)),
  get('viewer', '/attempts', showAttempts),
  get('viewer', '/audit', showAudit),
  get('viewer', '/offers', sendOffers),
  get('viewer', '/audit.csv', exportAudit('csv')),
  get('viewer', '/audit.jsonl', exportAudit('jsonl')),

  get('viewer', '/users', showUsers),
  post('admin', '/users', createUserByForm, showNewUser),
  ...getAndPost('admin', '/users/new', showNewUser, createUserByForm),
  ...getAndPost('admin', '/users/import', showImportUsers, importUsers, { takesFile: true, takesList: true }),
  get('viewer', '/users/:u', showUser),
  get('viewer', '/users/:u/sessions', showUserSessions),
  get('viewer', '/users/:u/attempts', showUserAttempts),
  get('viewer', '/users/:u/applications', showUserApplications),
  post('admin', '/users/:u/applications', USER_ACCESS_ACTIONS.letIn, showUser),
  post('admin', '/users/:u/applications/remove', USER_ACCESS_ACTIONS.remove, showUser),
  ...getAndPost('admin', '/users/:u/passkeys/:p/remove', showRemovePasskey, WAY_ACTIONS.passkey, SENSITIVE),
  ...getAndPost('admin', '/users/:u/accounts/:i/:s/remove', showRemoveIdentity, WAY_ACTIONS.identity, SENSITIVE),
  ...getAndPost('admin', '/users/:u/second-factor/reset', showResetFactor, WAY_ACTIONS.factor, SENSITIVE),
  ...getAndPost('admin', '/users/:u/wallet/remove', showRemoveWallet, WAY_ACTIONS.wallet, SENSITIVE),
  post('admin', '/users/:u', USER_ACTIONS.update, showUser),
  ...getAndPost('support', '/users/:u/deactivate', showDeactivate, USER_ACTIONS.deactivate),
  post('support', '/users/:u/end-sessions', USER_ACTIONS.endSessions),
  post('support', '/users/:u/reactivate', USER_ACTIONS.reactivate),
  ...getAndPost('viewer', '/users/:u/recovery', showRecovery, makeRecoveryLink, RECOVER),
  post('viewer', '/users/:u/recovery/revoke', revokeRecoveryLinkByForm, showRecovery, RECOVER),
  ...getAndPost('admin', '/users/:u/delete', showDeleteUser, END_USER_ACTIONS.delete, SENSITIVE),
  ...getAndPost('admin', '/users/:u/erase', showEraseUser, END_USER_ACTIONS.erase, SENSITIVE),

  get('viewer', '/groups', showGroups),
  post('admin', '/groups', createGroupByForm, showGroups),
  get('viewer', '/groups/:g', showGroup),
  post('admin', '/groups/:g', GROUP_ACTIONS.update, showGroup),
  post('admin', '/groups/:g/members', GROUP_ACTIONS.add, showGroup),
  post('admin', '/groups/:g/members/remove', GROUP_ACTIONS.remove, showGroup),
  ...getAndPost('admin', '/groups/:g/delete', showDeleteGroup, GROUP_ACTIONS.delete, SENSITIVE),

  // A team may use the routes below `/applications/:a` of its own applications.
  get('viewer', '/applications', showApplications, { isForTeams: true }),
  post('admin', '/applications', createApplicationByForm, showNewApplication),
  ...getAndPost('admin', '/applications/new', showNewApplication, createApplicationByForm),
  get('viewer', '/applications/:a', showApplication),
  post('admin', '/applications/:a', APPLICATION_ACTIONS.update, showApplication),
  get('viewer', '/applications/:a/preview', showPreview),
  post('support', '/applications/:a/clients/end', endClientByForm, showApplication),
  ...getAndPost('admin', '/applications/:a/logo', showLogo, setLogo, { takesFile: true }),
  ...getAndPost('admin', '/applications/:a/delete', showDeleteApplication, APPLICATION_ACTIONS.delete, SENSITIVE),
  get('viewer', '/applications/:a/keys', showKeys),
  post('admin', '/applications/:a/keys', createKey, showKeys, SENSITIVE),
  ...getAndPost('admin', '/applications/:a/keys/:k/rotate', showRotateKey, rotateKey, SENSITIVE),
  ...getAndPost('admin', '/applications/:a/keys/:k/revoke', showRevokeKey, revokeKey, SENSITIVE),
  get('viewer', '/applications/:a/users', showApplicationUsers),
  get('viewer', '/applications/:a/attempts', showApplicationAttempts),
  post('admin', '/applications/:a/users', APPLICATION_USER_ACTIONS.letIn, showApplicationUsers),
  post('admin', '/applications/:a/users/remove', APPLICATION_USER_ACTIONS.remove, showApplicationUsers),
  get('viewer', '/applications/:a/groups', showApplicationGroups),
  post('admin', '/applications/:a/groups', addApplicationGroup, showApplicationGroups),
  post('admin', '/applications/:a/groups/change', changeApplicationGroup, showApplicationGroups),
  get('viewer', '/applications/:a/invitations', showInvitations),
  post('admin', '/applications/:a/invitations', inviteByForm, showInvitations),
  post('admin', '/applications/:a/invitations/revoke', revokeInvitationByForm, showInvitations),
  get('viewer', '/applications/:a/sessions', showSessions),
  post('support', '/applications/:a/sessions/end', endSession, showSessions),
  get('viewer', '/applications/:a/webhooks', showWebhooks),
  post('admin', '/applications/:a/webhooks', createWebhookByForm, showWebhooks),
  get('viewer', '/applications/:a/webhooks/:w', showWebhook),
  post('admin', '/applications/:a/webhooks/:w', WEBHOOK_ACTIONS.update, showWebhook),
  post('support', '/applications/:a/webhooks/:w/test', WEBHOOK_ACTIONS.test, showWebhook),
  ...getAndPost('support', '/applications/:a/webhooks/:w/resend', showRedeliver, WEBHOOK_ACTIONS.redeliver),
  ...getAndPost(
    'admin',
    '/applications/:a/webhooks/:w/rotate',
    showRotateSigningKey,
    WEBHOOK_ACTIONS.rotate,
    SENSITIVE,
  ),
  ...getAndPost('admin', '/applications/:a/webhooks/:w/delete', showDeleteWebhook, WEBHOOK_ACTIONS.delete, SENSITIVE),
  get('viewer', '/applications/:a/webhooks/:w/deliveries', showDeliveries),
  get('viewer', '/applications/:a/webhooks/:w/deliveries/:m', showDelivery),
  post('support', '/applications/:a/webhooks/:w/deliveries/:m/resend', redeliverByForm, showDelivery),
  get('viewer', '/applications/:a/events', showEvents),
  post('admin', '/applications/:a/events', createEventByForm, showEvents),
  get('viewer', '/applications/:a/events/:e', showEvent),
  get('viewer', '/applications/:a/events/:e/figures', showDoorFigures),
  ...getAndPost('admin', '/applications/:a/events/:e/edit', showEditEvent, editEventByForm),
  get('viewer', '/applications/:a/events/:e/attendees', showAttendees),
  post('support', '/applications/:a/events/:e/attendees/block', ATTENDEE_ACTIONS.block, showAttendees),
  post('support', '/applications/:a/events/:e/attendees/unblock', ATTENDEE_ACTIONS.unblock, showAttendees),
  post('admin', '/applications/:a/events/:e/attendees/delete', ATTENDEE_ACTIONS.delete, showAttendees),
  ...getAndPost('admin', '/applications/:a/events/:e/attendees/import', showImport, importByForm, { takesList: true }),
  get('viewer', '/applications/:a/events/:e/refusals', showRefusals),
  get('viewer', '/applications/:a/events/:e/check-ins.csv', exportCheckIns('csv')),
  get('viewer', '/applications/:a/events/:e/check-ins.jsonl', exportCheckIns('jsonl')),
  post('support', '/applications/:a/events/:e/check-ins', checkInByForm, showEvent),
  post('support', '/applications/:a/events/:e/check-ins/undo', undoCheckInByForm, showEvent),
  ...getAndPost('admin', '/applications/:a/events/:e/delete', showDeleteEvent, deleteEventByForm, SENSITIVE),
];
