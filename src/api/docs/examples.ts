/** An example of every operation. The API reference shows it, and tests send it. */
import type { DescMethodUnary } from '@bufbuild/protobuf';
import { ADMIN_EXAMPLES } from './admin-examples.ts';
import { type Example, INVITED, PAGE, USER } from './example.ts';

const SESSION: Example = { required: { sessionId: '$SESSION_ID' } };
const WEBHOOK: Example = { required: { webhookId: '$WEBHOOK_ID' } };
const DELIVERY: Example = { required: { webhookId: '$WEBHOOK_ID', messageId: '$MESSAGE_ID' } };
const EVENT: Example = { required: { eventId: '$EVENT_ID' } };

const EXAMPLES: Readonly<Record<string, Example>> = {
  'AuthService/GenerateAuthUrl': {
    required: { clientId: '$CLIENT_ID', redirectUri: '$REDIRECT_URI', state: '$STATE' },
  },
  'AuthService/ExchangeToken': { required: { authToken: '$AUTH_TOKEN' } },

  'SessionService/CheckSession': { ...SESSION, optional: { maxStalenessMs: 0 } },
  'SessionService/RenewSession': SESSION,
  'SessionService/ListSessions': PAGE,
  'SessionService/RevokeSession': SESSION,
  'SessionService/RevokeUserSessions': USER,
  'SessionService/ListGrants': PAGE,
  'SessionService/EndGrant': { required: { grantId: '$GRANT_ID' } },

  'UserService/GetUser': USER,
  'UserService/ListUsers': PAGE,
  'UserService/InviteUser': { required: { email: '$NEW_EMAIL' }, optional: INVITED },
  'UserService/ListInvitations': PAGE,
  'UserService/RevokeInvitation': { required: { invitationId: '$INVITATION_ID' } },
  'UserService/BatchGetUsers': { required: { userIds: ['$USER_ID'] } },

  'WebhookService/CreateWebhook': {
    required: { url: 'https://example.com/hooks', ownerId: '$OWNER_ID', eventTypes: ['*'] },
    optional: { ordered: true, description: 'Zoë – check-ins & more', isActive: true },
  },
  'WebhookService/GetWebhook': WEBHOOK,
  'WebhookService/ListWebhooks': PAGE,
  'WebhookService/UpdateWebhook': {
    ...WEBHOOK,
    optional: { url: 'https://example.com/new', eventTypes: ['event.created'], isActive: false, description: 'New' },
  },
  'WebhookService/DeleteWebhook': WEBHOOK,
  'WebhookService/RotateSigningKey': { ...WEBHOOK, optional: { overlapSeconds: 3600 } },
  'WebhookService/SendTestMessage': WEBHOOK,
  'WebhookService/ListDeliveries': {
    ...WEBHOOK,
    optional: { status: 'pending', since: '2026-01-01T00:00:00Z', pageSize: 20 },
  },
  'WebhookService/GetDelivery': DELIVERY,
  'WebhookService/Redeliver': DELIVERY,
  'WebhookService/RedeliverFailed': { required: { webhookId: '$WEBHOOK_ID', since: '$SINCE' } },

  'EventService/CreateEvent': {
    required: { eventId: '$NEW_EVENT_ID' },
    optional: { name: 'Sommerfest Zürich & „mehr“' },
  },
  'EventService/GetEvent': EVENT,
  'EventService/ListEvents': PAGE,
  'EventService/DeleteEvent': EVENT,
  'EventService/CheckIn': { required: { eventId: '$EVENT_ID', attendeeId: '$ATTENDEE_ID' } },
  'EventService/ListCheckIns': { ...EVENT, ...PAGE },
  'EventService/UpdateEvent': { ...EVENT, optional: { capacity: 300 } },
  'EventService/BatchCheckIn': {
    required: {
      eventId: '$EVENT_ID',
      scans: [{ scanId: '0b9f6f2e-4d5c-4a7b-8c1d-9e0f1a2b3c4d', attendeeId: 'ticket-4711' }],
    },
  },
  'EventService/GetEventCounts': EVENT,
  'EventService/BatchPutAttendees': {
    required: { eventId: '$EVENT_ID', attendees: [{ attendeeId: 'ticket-4711', label: 'Ada Lovelace' }] },
  },
  'EventService/ListAttendees': { ...EVENT, ...PAGE },
  'EventService/DeleteAttendees': { required: { eventId: '$EVENT_ID', attendeeIds: ['ticket-4711'] } },
  'EventService/UndoCheckIn': { required: { eventId: '$EVENT_ID', attendeeId: '$ATTENDEE_ID' } },

  'TokenService/IntrospectToken': { required: { token: '$ACCESS_TOKEN' } },

  'MessageService/ListMessages': { optional: { cursor: 'oldest', pageSize: 20 } },

  ...ADMIN_EXAMPLES,
};

/** @throws Error if the operation has no example */
export function exampleOf(method: DescMethodUnary): Example {
  const name = `${method.parent.name}/${method.name}`;
  const example = EXAMPLES[name];
  if (!example) throw new Error(`add an example of ${name} to src/api/docs/examples.ts`);
  return example;
}
