import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { BaselineCall, PROCEDURES } from './baseline-call.ts';
import { openBaseline } from './open-baseline.ts';
import type { Caller } from './operations.ts';
import { fail, succeed } from './rest-envelope.ts';
import type { Statements } from './statements.ts';

declare module 'fastify' {
  interface FastifyRequest {
    call: BaselineCall | undefined;
  }
  interface FastifyContextConfig {
    /** The name of the RPC, for the log. */
    procedure?: string;
  }
}

/** Serves the routes as Fastify's documentation shows: hooks, routes with parameters, an error handler. */
export async function serveFastify(createStatements: (databaseUrl: string) => Statements): Promise<void> {
  const { config, logger, operations } = openBaseline(createStatements);
  const app: FastifyInstance = Fastify({ logger: false });
  app.decorateRequest('call', undefined);

  app.addHook('onRequest', async (request, reply) => {
    request.call = new BaselineCall('rest', request.headers['x-request-id']);
    reply.headers({ 'x-request-id': request.call.requestId, 'cache-control': 'no-store' });
    const apiKey = request.headers['x-api-key'];
    request.call.application = await operations.authenticate(typeof apiKey === 'string' ? apiKey : undefined);
  });
  app.addHook('onResponse', async (request, { statusCode: status }) => {
    const method = request.routeOptions.config.procedure ?? 'unknown';
    request.call?.log(logger, { method, code: status === 200 ? 'ok' : 'error', status });
  });
  app.setErrorHandler((error, _request, reply) => {
    const { status, envelope } = fail(error);
    return reply.code(status).send(envelope);
  });

  app.get<{ Params: { webhookId: string } }>(
    '/api/webhooks/:webhookId',
    { config: { procedure: PROCEDURES.getWebhook } },
    async (request) =>
      succeed('Webhook retrieved successfully', await operations.getWebhook(callerOf(request), request.params))
        .envelope,
  );

  app.post<{ Body: Record<string, unknown> }>(
    '/api/oauth/exchange',
    { config: { procedure: PROCEDURES.exchangeToken } },
    async (request) => {
      const session = await operations.exchangeToken(callerOf(request), request.body);
      return succeed('Token exchanged successfully', session).envelope;
    },
  );

  app.post<{ Body: Record<string, unknown>; Querystring: { clientId?: string } }>(
    '/api/oauth/generate-auth-url',
    { config: { procedure: PROCEDURES.generateAuthUrl } },
    async (request) => {
      const fields = { ...request.body, clientId: request.query.clientId };
      return succeed('Auth URL generated successfully', await operations.generateAuthUrl(callerOf(request), fields))
        .envelope;
    },
  );

  app.delete<{ Params: { eventId: string } }>(
    '/api/events/:eventId',
    { config: { procedure: PROCEDURES.deleteEvent } },
    async (request) => {
      await operations.deleteEvent(callerOf(request), request.params);
      return succeed('Event deleted successfully').envelope;
    },
  );

  app.post<{ Params: { eventId: string }; Body: Record<string, unknown> }>(
    '/api/events/:eventId/check-ins',
    { config: { procedure: PROCEDURES.checkIn } },
    async (request) => {
      const fields = { ...request.body, eventId: request.params.eventId };
      const { checkIn } = await operations.checkIn(callerOf(request), fields);
      return succeed('Attendee checked in successfully', checkIn).envelope;
    },
  );
  await app.listen({ port: config.port, host: config.host });
}

function callerOf({ call, ip, headers }: FastifyRequest): Caller {
  if (!call?.application) throw new Error('The request has no application');
  return { application: call.application, ipAddress: ip, userAgent: headers['user-agent'] ?? '' };
}
