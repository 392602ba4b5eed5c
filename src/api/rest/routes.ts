/** The REST routes, a row each. */
import { AuthService } from '../../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { SessionService } from '../../../gen/usher/v1/session_pb.ts';
import { UserService } from '../../../gen/usher/v1/user_pb.ts';
import { type Route, route } from './route.ts';
import { webhookRoutes } from './webhook-routes.ts';

export const routes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/api/oauth/generate-auth-url',
    rpc: AuthService.method.generateAuthUrl,
    query: ['clientId'],
    message: 'Auth URL generated successfully',
  }),
  route({
    method: 'POST',
    path: '/api/oauth/exchange',
    rpc: AuthService.method.exchangeToken,
    message: 'Token exchanged successfully',
  }),
  route({
    method: 'POST',
    path: '/api/sessions/check',
    rpc: SessionService.method.checkSession,
    message: 'Session checked successfully',
  }),
  route({
    method: 'POST',
    path: '/api/sessions/renew',
    rpc: SessionService.method.renewSession,
    message: 'Session renewed successfully',
    resource: 'session',
  }),
  route({
    method: 'GET',
    path: '/api/sessions',
    rpc: SessionService.method.listSessions,
    message: 'Sessions retrieved successfully',
  }),
  route({
    method: 'POST',
    path: '/api/sessions/revoke',
    rpc: SessionService.method.revokeSession,
    message: 'Session revoked successfully',
  }),
  route({
    method: 'GET',
    path: '/api/users/:userId',
    rpc: UserService.method.getUser,
    message: 'User retrieved successfully',
    resource: 'user',
  }),
  route({
    method: 'GET',
    path: '/api/users',
    rpc: UserService.method.listUsers,
    message: 'Users retrieved successfully',
  }),
  route({
    method: 'DELETE',
    path: '/api/users/:userId/sessions',
    rpc: SessionService.method.revokeUserSessions,
    message: 'Sessions revoked successfully',
  }),
  ...webhookRoutes,
  route({
    method: 'DELETE',
    path: '/api/events/:eventId',
    rpc: EventService.method.deleteEvent,
    message: 'Event deleted successfully',
  }),
  route({
    method: 'GET',
    path: '/api/events/:eventId',
    rpc: EventService.method.getEvent,
    message: 'Event retrieved successfully',
    resource: 'event',
  }),
  route({
    method: 'GET',
    path: '/api/events',
    rpc: EventService.method.listEvents,
    message: 'Events retrieved successfully',
  }),
  route({
    method: 'POST',
    path: '/api/events',
    rpc: EventService.method.createEvent,
    status: 201,
    message: 'Event created successfully',
    resource: 'event',
  }),
  route({
    method: 'POST',
    path: '/api/events/:eventId/check-ins',
    rpc: EventService.method.checkIn,
    status: 201,
    existedBefore: 'alreadyCheckedIn',
    message: 'Attendee checked in successfully',
    resource: 'checkIn',
  }),
  route({
    method: 'GET',
    path: '/api/events/:eventId/check-ins',
    rpc: EventService.method.listCheckIns,
    message: 'Check-ins retrieved successfully',
  }),
  route({
    method: 'DELETE',
    path: '/api/events/:eventId/check-ins/:attendeeId',
    rpc: EventService.method.undoCheckIn,
    message: 'Check-in undone successfully',
  }),
];
