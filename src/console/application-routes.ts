/** The routes below an application. A team may use them for its own. */
import { APPLICATION_ACTS, showApplication, showDeleteApplication, showNewApplication } from './pages/application.ts';
import { endSession, showApplicationUsers, showSessions } from './pages/application-people.ts';
import { showApplications } from './pages/applications.ts';
import { showDeliveries } from './pages/deliveries.ts';
import { redeliverByForm, showDelivery } from './pages/delivery.ts';
import { checkInByForm, EVENT_ACTS, showDeleteEvent, showEvent, showEvents } from './pages/events.ts';
import { createKey, revokeKey, rotateKey, showKeys, showRevokeKey, showRotateKey } from './pages/keys.ts';
import { showPreview } from './pages/preview.ts';
import { showDeleteWebhook, showRedeliver, showRotateSigningKey, showWebhook, WEBHOOK_ACTS } from './pages/webhook.ts';
import { createWebhookByForm, showWebhooks } from './pages/webhooks.ts';
import type { ConsoleRoute } from './route.ts';

export const APPLICATION_ROUTES: readonly ConsoleRoute[] = [
  { method: 'GET', path: '/applications', role: 'viewer', isForTeams: true, run: showApplications },
  { method: 'POST', path: '/applications', role: 'admin', run: APPLICATION_ACTS.create, showForm: showNewApplication },
  { method: 'GET', path: '/applications/new', role: 'admin', run: showNewApplication },
  {
    method: 'POST',
    path: '/applications/new',
    role: 'admin',
    run: APPLICATION_ACTS.create,
    showForm: showNewApplication,
  },
  { method: 'GET', path: '/applications/:a', role: 'viewer', run: showApplication },
  { method: 'POST', path: '/applications/:a', role: 'admin', run: APPLICATION_ACTS.update, showForm: showApplication },
  { method: 'GET', path: '/applications/:a/preview', role: 'viewer', run: showPreview },
  { method: 'GET', path: '/applications/:a/delete', role: 'admin', isSensitive: true, run: showDeleteApplication },
  {
    method: 'POST',
    path: '/applications/:a/delete',
    role: 'admin',
    isSensitive: true,
    run: APPLICATION_ACTS.delete,
    showForm: showDeleteApplication,
  },
  { method: 'GET', path: '/applications/:a/keys', role: 'viewer', run: showKeys },
  {
    method: 'POST',
    path: '/applications/:a/keys',
    role: 'admin',
    isSensitive: true,
    run: createKey,
    showForm: showKeys,
  },
  { method: 'GET', path: '/applications/:a/keys/:k/rotate', role: 'admin', isSensitive: true, run: showRotateKey },
  {
    method: 'POST',
    path: '/applications/:a/keys/:k/rotate',
    role: 'admin',
    isSensitive: true,
    run: rotateKey,
    showForm: showRotateKey,
  },
  { method: 'GET', path: '/applications/:a/keys/:k/revoke', role: 'admin', isSensitive: true, run: showRevokeKey },
  {
    method: 'POST',
    path: '/applications/:a/keys/:k/revoke',
    role: 'admin',
    isSensitive: true,
    run: revokeKey,
    showForm: showRevokeKey,
  },
  { method: 'GET', path: '/applications/:a/users', role: 'viewer', run: showApplicationUsers },
  { method: 'GET', path: '/applications/:a/sessions', role: 'viewer', run: showSessions },
  { method: 'POST', path: '/applications/:a/sessions/end', role: 'support', run: endSession, showForm: showSessions },
  { method: 'GET', path: '/applications/:a/webhooks', role: 'viewer', run: showWebhooks },
  {
    method: 'POST',
    path: '/applications/:a/webhooks',
    role: 'admin',
    run: createWebhookByForm,
    showForm: showWebhooks,
  },
  { method: 'GET', path: '/applications/:a/webhooks/:w', role: 'viewer', run: showWebhook },
  {
    method: 'POST',
    path: '/applications/:a/webhooks/:w',
    role: 'admin',
    run: WEBHOOK_ACTS.update,
    showForm: showWebhook,
  },
  {
    method: 'POST',
    path: '/applications/:a/webhooks/:w/test',
    role: 'support',
    run: WEBHOOK_ACTS.test,
    showForm: showWebhook,
  },
  { method: 'GET', path: '/applications/:a/webhooks/:w/resend', role: 'support', run: showRedeliver },
  {
    method: 'POST',
    path: '/applications/:a/webhooks/:w/resend',
    role: 'support',
    run: WEBHOOK_ACTS.redeliver,
    showForm: showRedeliver,
  },
  {
    method: 'GET',
    path: '/applications/:a/webhooks/:w/rotate',
    role: 'admin',
    isSensitive: true,
    run: showRotateSigningKey,
  },
  {
    method: 'POST',
    path: '/applications/:a/webhooks/:w/rotate',
    role: 'admin',
    isSensitive: true,
    run: WEBHOOK_ACTS.rotate,
    showForm: showRotateSigningKey,
  },
  {
    method: 'GET',
    path: '/applications/:a/webhooks/:w/delete',
    role: 'admin',
    isSensitive: true,
    run: showDeleteWebhook,
  },
  {
    method: 'POST',
    path: '/applications/:a/webhooks/:w/delete',
    role: 'admin',
    isSensitive: true,
    run: WEBHOOK_ACTS.delete,
    showForm: showDeleteWebhook,
  },
  { method: 'GET', path: '/applications/:a/webhooks/:w/deliveries', role: 'viewer', run: showDeliveries },
  { method: 'GET', path: '/applications/:a/webhooks/:w/deliveries/:m', role: 'viewer', run: showDelivery },
  {
    method: 'POST',
    path: '/applications/:a/webhooks/:w/deliveries/:m/resend',
    role: 'support',
    run: redeliverByForm,
    showForm: showDelivery,
  },
  { method: 'GET', path: '/applications/:a/events', role: 'viewer', run: showEvents },
  { method: 'POST', path: '/applications/:a/events', role: 'admin', run: EVENT_ACTS.create, showForm: showEvents },
  { method: 'GET', path: '/applications/:a/events/:e', role: 'viewer', run: showEvent },
  {
    method: 'POST',
    path: '/applications/:a/events/:e/check-ins',
    role: 'support',
    run: checkInByForm,
    showForm: showEvent,
  },
  {
    method: 'POST',
    path: '/applications/:a/events/:e/check-ins/undo',
    role: 'support',
    run: EVENT_ACTS.undo,
    showForm: showEvent,
  },
  { method: 'GET', path: '/applications/:a/events/:e/delete', role: 'admin', isSensitive: true, run: showDeleteEvent },
  {
    method: 'POST',
    path: '/applications/:a/events/:e/delete',
    role: 'admin',
    isSensitive: true,
    run: EVENT_ACTS.delete,
    showForm: showDeleteEvent,
  },
];
