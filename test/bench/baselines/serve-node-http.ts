/** The lower bound of REST in Node: as little code as possible on `node:http`. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { BaselineCall, PROCEDURES } from './baseline-call.ts';
import { openBaseline } from './open-baseline.ts';
import { openConnections } from './open-connections.ts';
import type { Caller } from './operations.ts';
import { fail, type RestAnswer, succeed } from './rest-envelope.ts';
import { createSqlStatements } from './sql-statements.ts';

const { config, logger, operations } = openBaseline((url) => createSqlStatements(openConnections(url)));

createServer(answer).listen(config.port, config.host);

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const call = new BaselineCall('rest', request.headers['x-request-id']);
  const route = routeOf(request);
  const { status, envelope } = await run(call, route, request).catch(fail);
  const json = JSON.stringify(envelope);
  response.writeHead(status, {
    'x-request-id': call.requestId,
    'cache-control': 'no-store',
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(json),
  });
  response.end(json);
  call.log(logger, { method: route.procedure, code: status === 200 ? 'ok' : 'error', status });
}

async function run(call: BaselineCall, route: Route, request: IncomingMessage): Promise<RestAnswer> {
  const apiKey = request.headers['x-api-key'];
  call.application = await operations.authenticate(typeof apiKey === 'string' ? apiKey : undefined);
  const ipAddress = request.socket.remoteAddress ?? '';
  return route.run(
    { application: call.application, ipAddress, userAgent: request.headers['user-agent'] ?? '' },
    request,
  );
}

interface Route {
  readonly procedure: string;
  run(caller: Caller, request: IncomingMessage): Promise<RestAnswer>;
}

const getWebhook: Route = {
  procedure: PROCEDURES.getWebhook,
  async run(caller, { url = '' }) {
    const webhookId = decodeURIComponent(url.slice('/api/webhooks/'.length));
    return succeed('Webhook retrieved successfully', await operations.getWebhook(caller, { webhookId }));
  },
};

const exchangeToken: Route = {
  procedure: PROCEDURES.exchangeToken,
  async run(caller, request) {
    return succeed('Token exchanged successfully', await operations.exchangeToken(caller, await readJson(request)));
  },
};

const generateAuthUrl: Route = {
  procedure: PROCEDURES.generateAuthUrl,
  async run(caller, request) {
    const { url = '' } = request;
    const clientId = new URLSearchParams(url.slice(url.indexOf('?'))).get('clientId') ?? undefined;
    const fields = { ...(await readJson(request)), clientId };
    return succeed('Auth URL generated successfully', await operations.generateAuthUrl(caller, fields));
  },
};

const deleteEvent: Route = {
  procedure: PROCEDURES.deleteEvent,
  async run(caller, { url = '' }) {
    await operations.deleteEvent(caller, { eventId: decodeURIComponent(url.slice('/api/events/'.length)) });
    return succeed('Event deleted successfully');
  },
};

const checkIn: Route = {
  procedure: PROCEDURES.checkIn,
  async run(caller, request) {
    const eventId = decodeURIComponent(request.url?.split('/')[3] ?? '');
    const fields = { ...(await readJson(request)), eventId };
    return succeed('Attendee checked in successfully', (await operations.checkIn(caller, fields)).checkIn);
  },
};

const notFound: Route = {
  procedure: 'unknown',
  run: async () => ({ status: 404, envelope: { status: false, message: 'Not found' } }),
};

function routeOf({ method, url = '' }: IncomingMessage): Route {
  if (method === 'GET' && url.startsWith('/api/webhooks/')) return getWebhook;
  if (method === 'DELETE' && url.startsWith('/api/events/')) return deleteEvent;
  if (method !== 'POST') return notFound;
  if (url === '/api/oauth/exchange') return exchangeToken;
  if (url.startsWith('/api/oauth/generate-auth-url?')) return generateAuthUrl;
  return url.startsWith('/api/events/') ? checkIn : notFound;
}

function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', reject);
    request.on('end', () => {
      try {
        resolve(JSON.parse(Buffer.concat(chunks).toString('utf8')));
      } catch (error) {
        reject(error);
      }
    });
  });
}
