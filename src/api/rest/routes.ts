/** The REST routes, a row each. */
import type { DescMethodUnary, MessageShape } from '@bufbuild/protobuf';
import { AuthService } from '../../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { SessionService } from '../../../gen/usher/v1/session_pb.ts';
import { UserService } from '../../../gen/usher/v1/user_pb.ts';
import { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';

/** Where a field of the RPC's request is found in the HTTP request, under the field's own name. */
type Source = 'path' | 'query' | 'body';

export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** A segment that begins with a colon is a parameter, as in `/api/webhooks/:webhookId`. */
  readonly path: string;
  readonly rpc: DescMethodUnary;
  readonly fields: Readonly<Record<string, Source>>;
  /** The status of a success: 201 where the call creates something, else 200. */
  readonly status: number;
  /** The message of a success. */
  readonly message: string;
  /** The field of the response that is `data` itself, together with the other fields. Without it, `data` has all fields. */
  readonly resource?: string;
  /** The field of the response that is true when the call has created nothing, and the status is 200. */
  readonly existedBefore?: string;
}

/** The fields of every list. */
const PAGE = { pageSize: 'query', pageToken: 'query' } as const;

export const routes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/api/oauth/generate-auth-url',
    rpc: AuthService.method.generateAuthUrl,
    fields: { clientId: 'query', redirectUri: 'body', state: 'body' },
    message: 'Auth URL generated successfully',
  }),
  route({
    method: 'POST',
    path: '/api/oauth/exchange',
    rpc: AuthService.method.exchangeToken,
    fields: { authToken: 'body' },
    message: 'Token exchanged successfully',
  }),
  route({
    method: 'POST',
    path: '/api/sessions/check',
    rpc: SessionService.method.checkSession,
    fields: { sessionId: 'body', maxStalenessMs: 'body' },
    message: 'Session checked successfully',
  }),
  route({
    method: 'POST',
    path: '/api/sessions/renew',
    rpc: SessionService.method.renewSession,
    fields: { sessionId: 'body' },
    message: 'Session renewed successfully',
    resource: 'session',
  }),
  route({
    method: 'GET',
    path: '/api/sessions',
    rpc: SessionService.method.listSessions,
    fields: { userId: 'query', ...PAGE },
    message: 'Sessions retrieved successfully',
  }),
  route({
    method: 'POST',
    path: '/api/sessions/revoke',
    rpc: SessionService.method.revokeSession,
    fields: { sessionId: 'body' },
    message: 'Session revoked successfully',
  }),
  route({
    method: 'GET',
    path: '/api/users/:userId',
    rpc: UserService.method.getUser,
    fields: { userId: 'path' },
    message: 'User retrieved successfully',
    resource: 'user',
  }),
  route({
    method: 'GET',
    path: '/api/users',
    rpc: UserService.method.listUsers,
    fields: { email: 'query', walletAddress: 'query', ...PAGE },
    message: 'Users retrieved successfully',
  }),
  route({
    method: 'DELETE',
    path: '/api/users/:userId/sessions',
    rpc: SessionService.method.revokeUserSessions,
    fields: { userId: 'path' },
    message: 'Sessions revoked successfully',
  }),
  route({
    method: 'GET',
    path: '/api/webhooks/:webhookId',
    rpc: WebhookService.method.getWebhook,
    fields: { webhookId: 'path' },
    message: 'Webhook retrieved successfully',
    resource: 'webhook',
  }),
  route({
    method: 'DELETE',
    path: '/api/events/:eventId',
    rpc: EventService.method.deleteEvent,
    fields: { eventId: 'path' },
    message: 'Event deleted successfully',
  }),
  route({
    method: 'GET',
    path: '/api/events/:eventId',
    rpc: EventService.method.getEvent,
    fields: { eventId: 'path' },
    message: 'Event retrieved successfully',
    resource: 'event',
  }),
  route({
    method: 'GET',
    path: '/api/events',
    rpc: EventService.method.listEvents,
    fields: PAGE,
    message: 'Events retrieved successfully',
  }),
  route({
    method: 'POST',
    path: '/api/events',
    rpc: EventService.method.createEvent,
    fields: { eventId: 'body', name: 'body' },
    status: 201,
    message: 'Event created successfully',
    resource: 'event',
  }),
  route({
    method: 'POST',
    path: '/api/events/:eventId/check-ins',
    rpc: EventService.method.checkIn,
    fields: { eventId: 'path', attendeeId: 'body' },
    status: 201,
    existedBefore: 'alreadyCheckedIn',
    message: 'Attendee checked in successfully',
    resource: 'checkIn',
  }),
  route({
    method: 'GET',
    path: '/api/events/:eventId/check-ins',
    rpc: EventService.method.listCheckIns,
    fields: { eventId: 'path', ...PAGE },
    message: 'Check-ins retrieved successfully',
  }),
  route({
    method: 'DELETE',
    path: '/api/events/:eventId/check-ins/:attendeeId',
    rpc: EventService.method.undoCheckIn,
    fields: { eventId: 'path', attendeeId: 'path' },
    message: 'Check-in undone successfully',
  }),
];

/** Ties a row to the request and the response of its own RPC. */
function route<Rpc extends DescMethodUnary>({
  status = 200,
  ...row
}: Omit<Route, 'rpc' | 'fields' | 'status' | 'resource' | 'existedBefore'> & {
  rpc: Rpc;
  fields: Readonly<Partial<Record<FieldOf<Rpc['input']>, Source>>>;
  status?: 200 | 201;
  resource?: FieldOf<Rpc['output']>;
  existedBefore?: FieldOf<Rpc['output']>;
}): Route {
  return { status, ...row } as Route;
}

type FieldOf<Schema extends DescMethodUnary['input']> = Exclude<keyof MessageShape<Schema>, symbol | `$${string}`>;
