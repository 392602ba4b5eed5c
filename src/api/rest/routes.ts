/** The REST routes, a row each. */
import { AuthService } from '../../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { SessionService } from '../../../gen/usher/v1/session_pb.ts';
import { UserService } from '../../../gen/usher/v1/user_pb.ts';
import { PAGE, type Route, route } from './route.ts';
import { webhookRoutes } from './webhook-routes.ts';

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
  ...webhookRoutes,
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
