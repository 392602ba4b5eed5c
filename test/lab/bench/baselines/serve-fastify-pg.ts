/** A common choice: Fastify with `pg` and SQL by hand, as Fastify's documentation shows: hooks, routes, an error handler. */
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { Pool } from 'pg';
import { BaselineCall } from './baseline-call.ts';
import { openBaseline } from './open-baseline.ts';
import type { Caller } from './operations.ts';
import { createRestOperations, type Fields, fail, type RestOperation, succeed } from './rest-operations.ts';

declare module 'fastify' {
  interface FastifyRequest {
    call: BaselineCall | undefined;
  }
  interface FastifyContextConfig {
    procedure?: string;
  }
}

const { config, logger, operations } = openBaseline((connectionString) => {
  const pool = new Pool({ connectionString });
  // A named statement is prepared once per connection.
  return async <Row extends object>({ name, text }: { name: string; text: string }, values: readonly unknown[]) => {
    const { rows } = await pool.query<Row>({ name, text, values: [...values] });
    return rows;
  };
});
const { getWebhook, exchangeToken, generateAuthUrl, deleteEvent, checkIn } = createRestOperations(operations);
const ROUTES: readonly (readonly [method: string, url: string, RestOperation])[] = [
  ['GET', '/api/webhooks/:webhookId', getWebhook],
  ['POST', '/api/oauth/exchange', exchangeToken],
  ['POST', '/api/oauth/generate-auth-url', generateAuthUrl],
  ['DELETE', '/api/events/:eventId', deleteEvent],
  ['POST', '/api/events/:eventId/check-ins', checkIn],
];

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
for (const [method, url, { procedure, message, run }] of ROUTES) {
  app.route<{ Body?: Fields; Querystring: Fields; Params: Fields }>({
    method,
    url,
    config: { procedure },
    handler: async (request) => {
      const fields = { ...request.body, ...request.query, ...request.params };
      return succeed(message, await run(callerOf(request), fields)).envelope;
    },
  });
}
await app.listen({ port: config.port, host: config.host });

function callerOf({ call, ip, headers }: Pick<FastifyRequest, 'call' | 'ip' | 'headers'>): Caller {
  if (!call?.application) throw new Error('The request has no application');
  const { application, requestId } = call;
  return { application, requestId, ipAddress: ip, userAgent: headers['user-agent'] ?? '' };
}
