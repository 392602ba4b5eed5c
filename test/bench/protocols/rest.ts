import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import { AuthService } from '../../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { SessionService } from '../../../gen/usher/v1/session_pb.ts';
import { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import { type Protocol, requireReply } from './protocol.ts';

interface RestShape {
  readonly message: string;
  encode(fields: JsonObject): { method: string; path: string; body?: JsonObject };
  /** Turns the data of the envelope into the response message. */
  toResponse(data: JsonObject | undefined): JsonObject;
}

const SHAPES = new Map<DescMethodUnary, RestShape>([
  [
    WebhookService.method.getWebhook,
    {
      message: 'Webhook retrieved successfully',
      encode: ({ webhookId }) => ({ method: 'GET', path: `/api/webhooks/${webhookId}` }),
      toResponse: (webhook) => ({ webhook: webhook ?? null }),
    },
  ],
  [
    SessionService.method.checkSession,
    {
      message: 'Session checked successfully',
      encode: (body) => ({ method: 'POST', path: '/api/sessions/check', body }),
      toResponse: (data) => data ?? {},
    },
  ],
  [
    AuthService.method.exchangeToken,
    {
      message: 'Token exchanged successfully',
      encode: (body) => ({ method: 'POST', path: '/api/oauth/exchange', body }),
      toResponse: (data) => data ?? {},
    },
  ],
  [
    AuthService.method.generateAuthUrl,
    {
      message: 'Auth URL generated successfully',
      encode: ({ clientId, ...body }) => ({
        method: 'POST',
        path: `/api/oauth/generate-auth-url?clientId=${clientId}`,
        body,
      }),
      toResponse: (data) => data ?? {},
    },
  ],
  [
    EventService.method.deleteEvent,
    {
      message: 'Event deleted successfully',
      encode: ({ eventId }) => ({ method: 'DELETE', path: `/api/events/${eventId}` }),
      toResponse: (data) => data ?? {},
    },
  ],
  [
    EventService.method.checkIn,
    {
      message: 'Attendee checked in successfully',
      encode: ({ eventId, ...body }) => ({ method: 'POST', path: `/api/events/${eventId}/check-ins`, body }),
      toResponse: (checkIn) => ({ checkIn: checkIn ?? null }),
    },
  ],
]);

export const rest: Protocol = {
  name: 'REST',
  httpVersion: '1.1',

  encode(method, fields) {
    const { body, ...target } = shapeOf(method).encode(fields);
    return {
      ...target,
      headers: body ? { 'content-type': 'application/json' } : {},
      body: Buffer.from(body ? JSON.stringify(body) : ''),
    };
  },

  decode(method, reply) {
    const { message, toResponse } = shapeOf(method);
    // The baselines answer 200 to a creation, too.
    requireReply(reply.status === 200 || reply.status === 201, reply);
    const envelope = JSON.parse(reply.body.toString('utf8'));
    requireReply(envelope.status === true && envelope.message === message, reply);
    return toResponse(envelope.data);
  },
};

function shapeOf(method: DescMethodUnary): RestShape {
  const shape = SHAPES.get(method);
  if (!shape) throw new Error(`${method.name} has no REST route`);
  return shape;
}
