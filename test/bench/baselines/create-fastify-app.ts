import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Application } from '../../../src/domain/call.ts';
import { BaselineCall, PROCEDURES } from './baseline-call.ts';
import { fail, type RestAnswer, succeed } from './rest-answers.ts';
import type { Verbs } from './verbs.ts';

declare module 'fastify' {
  interface FastifyRequest {
    call: BaselineCall | undefined;
  }
  interface FastifyContextConfig {
    /** The RPC that the route stands for, in the log. */
    procedure?: string;
  }
}

/** The documented routes on Fastify, as its documentation shows: hooks, routes with parameters, an error handler. */
export function createFastifyApp(verbs: Verbs, logger: Logger): FastifyInstance {
  const app = Fastify({ logger: false });
  app.decorateRequest('call', undefined);

  app.addHook('onRequest', async (request, reply) => {
    request.call = new BaselineCall('rest', request.headers['x-request-id']);
    reply.headers({ 'x-request-id': request.call.requestId, 'cache-control': 'no-store' });
    const apiKey = request.headers['x-api-key'];
    request.call.application = await verbs.authenticate(typeof apiKey === 'string' ? apiKey : undefined);
  });
  app.addHook('onResponse', async (request, { statusCode: status }) => {
    const method = request.routeOptions.config.procedure ?? 'unknown';
    request.call?.log(logger, { method, code: status === 200 ? 'ok' : 'error', status });
  });
  app.setErrorHandler((error, _request, reply) => send(reply, fail(error)));

  app.get<{ Params: { webhookId: string } }>(
    '/api/webhooks/:webhookId',
    { config: { procedure: PROCEDURES.getWebhook } },
    async (request) =>
      succeed('Webhook retrieved successfully', await verbs.getWebhook(applicationOf(request), request.params))
        .envelope,
  );

  app.post<{ Body: Record<string, unknown> }>(
    '/api/oauth/exchange',
    { config: { procedure: PROCEDURES.exchangeToken } },
    async (request) => {
      const peer = { ipAddress: request.ip, userAgent: request.headers['user-agent'] ?? '' };
      const session = await verbs.exchangeToken(applicationOf(request), peer, request.body);
      return succeed('Token exchanged successfully', session).envelope;
    },
  );

  app.post<{ Body: Record<string, unknown>; Querystring: { clientId?: string } }>(
    '/api/oauth/generate-auth-url',
    { config: { procedure: PROCEDURES.generateAuthUrl } },
    async (request) => {
      const fields = { ...request.body, clientId: request.query.clientId };
      return succeed('Auth URL generated successfully', await verbs.generateAuthUrl(applicationOf(request), fields))
        .envelope;
    },
  );

  app.delete<{ Params: { eventId: string } }>(
    '/api/events/:eventId',
    { config: { procedure: PROCEDURES.deleteEvent } },
    async (request) => {
      await verbs.deleteEvent(applicationOf(request), request.params);
      return succeed('Event deleted successfully').envelope;
    },
  );

  app.post<{ Params: { eventId: string }; Body: Record<string, unknown> }>(
    '/api/events/:eventId/check-ins',
    { config: { procedure: PROCEDURES.checkIn } },
    async (request) => {
      const fields = { ...request.body, eventId: request.params.eventId };
      return succeed('Attendee checked in successfully', await verbs.checkIn(applicationOf(request), fields)).envelope;
    },
  );
  return app;
}

function applicationOf({ call }: FastifyRequest): Application {
  if (!call?.application) throw new Error('The request has no application');
  return call.application;
}

function send(reply: FastifyReply, { status, envelope }: RestAnswer): FastifyReply {
  return reply.code(status).send(envelope);
}
