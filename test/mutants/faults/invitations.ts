import type { Fault } from '../fault.ts';

const at = { test: 'test/invitations/invitations.test.ts' };

/** Invitations to applications. */
export const INVITATION_FAULTS: readonly Fault[] = [
  {
    ...at,
    what: 'An invitation tells who has the address',
    file: 'src/domain/invitations/invitation.ts',
    find: 'userId: row.acceptedAt && invitee',
    replace: 'userId: invitee',
    title: /is the same for a user and for a stranger/,
  },
  {
    ...at,
    what: 'An application invites without permission',
    file: 'src/domain/invitations/invite-user.ts',
    find: '!isByOperator && !application.allowsInvitations',
    replace: 'false',
    title: /an application that may not invite/,
  },
  {
    ...at,
    what: 'An address gets an e-mail with each invitation',
    file: 'src/domain/invitations/invite-user.ts',
    find: '(await takePermit(call, key, EMAILS)) && !isMuted',
    replace: '!isMuted',
    title: /with one e-mail a day/,
  },
  {
    ...at,
    what: 'A muted address gets invitations',
    file: 'src/domain/invitations/invite-user.ts',
    find: '(await takePermit(call, key, EMAILS)) && !isMuted',
    replace: '(await takePermit(call, key, EMAILS))',
    title: /whose owner has stopped e-mails/,
  },
  {
    ...at,
    what: 'A sign-in does not accept an invitation',
    file: 'src/domain/login/complete-login.ts',
    find: 'if (intent.isInvited) await',
    replace: 'if (false) await',
    title: /is accepted by the first sign-in/,
  },
  {
    ...at,
    what: 'An expired invitation leaves the address of a stranger',
    file: 'src/domain/invitations/expire-invitations.ts',
    find: 'if (withdrawn?.createdUser)',
    replace: 'if (false)',
    title: /the expiry of an open invitation erases the user/,
  },
  {
    ...at,
    what: 'An expired invitation leaves the access that it has given',
    file: 'src/domain/invitations/withdraw-invitation.ts',
    find: 'where w.added_user and a.application_id',
    replace: 'where false and a.application_id',
    title: /takes away only what it has given/,
  },
  {
    ...at,
    what: 'A withdrawn invitation takes away what an operator has given',
    file: 'src/domain/invitations/withdraw-invitation.ts',
    find: 'where w.added_user and a.application_id',
    replace: 'where a.application_id',
    title: /takes away only what it has given/,
  },
  {
    ...at,
    what: 'A withdrawn invitation erases a user whom another application has',
    file: 'src/domain/invitations/remove-invited-user.ts',
    find: 'and not exists (select 1 from added_users where user_id = ${userId})',
    replace: '',
    title: /an operator has added to another application/,
  },
  {
    ...at,
    what: 'A crash after a sign-in lets the invitation expire',
    file: 'src/domain/invitations/expire-invitations.ts',
    find: 'if (signedIn) {',
    replace: 'if (false) {',
    title: /is accepted late rather than expired/,
  },
];
