/** The REST routes, a row each. */
import type { DescMethodUnary, MessageShape } from '@bufbuild/protobuf';
import { AuthService } from '../../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { MessageService } from '../../../gen/usher/v1/message_pb.ts';
import { SessionService } from '../../../gen/usher/v1/session_pb.ts';
import { TokenService } from '../../../gen/usher/v1/token_pb.ts';
import { UserService } from '../../../gen/usher/v1/user_pb.ts';
import { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import { isFieldMask } from '../field-mask.ts';
import { ignoresUnknownFields } from '../unknown-fields.ts';

const auth = AuthService.method;
const sessions = SessionService.method;
const users = UserService.method;
const tokens = TokenService.method;
const webhooks = WebhookService.method;
const events = EventService.method;
const messages = MessageService.method;

export const routes: readonly Route[] = [
  route('POST', '/api/oauth/generate-auth-url', auth.generateAuthUrl, 'Auth URL generated successfully', {
    query: ['clientId'],
  }),
  route('POST', '/api/oauth/exchange', auth.exchangeToken, 'Token exchanged successfully'),

  route('POST', '/api/sessions/check', sessions.checkSession, 'Session checked successfully'),
  route('POST', '/api/sessions/renew', sessions.renewSession, 'Session renewed successfully', { resource: 'session' }),
  route('GET', '/api/sessions', sessions.listSessions, 'Sessions retrieved successfully'),
  route('POST', '/api/sessions/revoke', sessions.revokeSession, 'Session revoked successfully'),
  route('GET', '/api/sessions/revocations', sessions.listRevocations, 'Revocations retrieved successfully'),

  route('GET', '/api/grants', sessions.listGrants, 'Grants retrieved successfully'),
  route('DELETE', '/api/grants/:grantId', sessions.endGrant, 'Grant ended successfully'),

  route('POST', '/api/tokens/introspect', tokens.introspectToken, 'Token introspected successfully'),

  route('POST', '/api/users/batch-get', users.batchGetUsers, 'Users retrieved successfully'),
  route('GET', '/api/users/:userId', users.getUser, 'User retrieved successfully', { resource: 'user' }),
  route('GET', '/api/users', users.listUsers, 'Users retrieved successfully'),
  route('POST', '/api/invitations', users.inviteUser, 'User invited successfully', {
    status: 201,
    resource: 'invitation',
  }),
  route('GET', '/api/invitations', users.listInvitations, 'Invitations retrieved successfully'),
  route('DELETE', '/api/invitations/:invitationId', users.revokeInvitation, 'Invitation revoked successfully'),
  route('DELETE', '/api/users/:userId/sessions', sessions.revokeUserSessions, 'Sessions revoked successfully'),

  route('GET', '/api/webhooks/:webhookId', webhooks.getWebhook, 'Webhook retrieved successfully', {
    resource: 'webhook',
    // The fields of the contract. Fields added later are only in the RPC, so that this reply does not change.
    documented: ['webhookId', 'signingKey', 'url', 'isActive', 'application', 'owner', 'createdAt', 'updatedAt'],
  }),
  route('GET', '/api/webhooks', webhooks.listWebhooks, 'Webhooks retrieved successfully'),
  route('POST', '/api/webhooks', webhooks.createWebhook, 'Webhook created successfully', {
    status: 201,
    resource: 'webhook',
  }),
  route('PATCH', '/api/webhooks/:webhookId', webhooks.updateWebhook, 'Webhook updated successfully', {
    resource: 'webhook',
  }),
  route('DELETE', '/api/webhooks/:webhookId', webhooks.deleteWebhook, 'Webhook deleted successfully'),
  route(
    'POST',
    '/api/webhooks/:webhookId/rotate-signing-key',
    webhooks.rotateSigningKey,
    'Signing key rotated successfully',
    { resource: 'webhook' },
  ),
  route('POST', '/api/webhooks/:webhookId/test', webhooks.sendTestMessage, 'Test message accepted'),
  route('GET', '/api/webhooks/:webhookId/deliveries', webhooks.listDeliveries, 'Deliveries retrieved successfully'),
  route(
    'GET',
    '/api/webhooks/:webhookId/deliveries/:messageId',
    webhooks.getDelivery,
    'Delivery retrieved successfully',
    { resource: 'delivery' },
  ),
  route('POST', '/api/webhooks/:webhookId/deliveries/:messageId/redeliver', webhooks.redeliver, 'Redelivery accepted'),
  route('POST', '/api/webhooks/:webhookId/redeliver-failed', webhooks.redeliverFailed, 'Redelivery accepted'),

  route('GET', '/api/messages', messages.listMessages, 'Messages retrieved successfully'),

  route('DELETE', '/api/events/:eventId', events.deleteEvent, 'Event deleted successfully'),
  route('GET', '/api/events/:eventId', events.getEvent, 'Event retrieved successfully', { resource: 'event' }),
  route('GET', '/api/events', events.listEvents, 'Events retrieved successfully'),
  route('POST', '/api/events', events.createEvent, 'Event created successfully', { status: 201, resource: 'event' }),
  route('POST', '/api/events/:eventId/check-ins', events.checkIn, 'Attendee checked in successfully', {
    status: 201,
    existedBefore: 'alreadyCheckedIn',
    resource: 'checkIn',
  }),
  route('GET', '/api/events/:eventId/check-ins', events.listCheckIns, 'Check-ins retrieved successfully'),
  route('PATCH', '/api/events/:eventId', events.updateEvent, 'Event updated successfully', { resource: 'event' }),
  route('POST', '/api/events/:eventId/check-ins/batch', events.batchCheckIn, 'Scans processed successfully'),
  route('GET', '/api/events/:eventId/counts', events.getEventCounts, 'Event counts retrieved successfully'),
  route('GET', '/api/events/:eventId/attendees', events.listAttendees, 'Attendees retrieved successfully'),
  route('POST', '/api/events/:eventId/attendees', events.batchPutAttendees, 'Attendees stored successfully'),
  route('POST', '/api/events/:eventId/attendees/delete', events.deleteAttendees, 'Attendees deleted successfully'),
  route('DELETE', '/api/events/:eventId/check-ins/:attendeeId', events.undoCheckIn, 'Check-in undone successfully'),
];

/** The part of the HTTP request that holds a field, under the name of the field. */
type Source = 'path' | 'query' | 'body';

export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** A segment that begins with a colon is a parameter, as in `/api/webhooks/:webhookId`. */
  readonly path: string;
  readonly rpc: DescMethodUnary;
  readonly fields: Readonly<Record<string, Source>>;
  /** The status of a success: 201 if the call creates something, else 200. */
  readonly status: number;
  readonly message: string;
  /** The field of the response that becomes `data`. Other fields of the response are added to `data`. */
  readonly resource?: string;
  /** The field of the response that is true if the call has created nothing. Then the status is 200. */
  readonly existedBefore?: string;
  /** Whether it ignores fields and query parameters that it does not know. */
  readonly isLenient: boolean;
  /** If set, `data` has only these fields. */
  readonly documented?: readonly string[];
}

interface Options<Rpc extends DescMethodUnary> extends Pick<Route, 'documented'> {
  /** Fields that are in the query although the request has a body. */
  readonly query?: readonly FieldOf<Rpc['input']>[];
  readonly status?: 200 | 201;
  readonly resource?: FieldOf<Rpc['output']>;
  readonly existedBefore?: FieldOf<Rpc['output']>;
}

type FieldOf<Schema extends DescMethodUnary['input']> = Exclude<string & keyof MessageShape<Schema>, `$${string}`>;

/** Returns a row with names of fields that its RPC has. REST needs no field mask, because null clears a field. */
function route<Rpc extends DescMethodUnary>(
  method: Route['method'],
  path: string,
  rpc: Rpc,
  message: string,
  { query = [], status = 200, ...options }: Options<Rpc> = {},
): Route {
  const others = method === 'GET' || method === 'DELETE' ? 'query' : 'body';
  const sourceOf = (name: string): Source => {
    if (path.split('/').includes(`:${name}`)) return 'path';
    return query.some((each) => each === name) ? 'query' : others;
  };
  const names = rpc.input.fields.filter((field) => !isFieldMask(field)).map(({ localName }) => localName);
  const fields = Object.fromEntries(names.map((name) => [name, sourceOf(name)]));
  return { method, path, rpc, message, status, fields, isLenient: ignoresUnknownFields(rpc), ...options };
}
