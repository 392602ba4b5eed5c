/** The floor: as little as can stand between a socket and the statement, by hand on `node:http`. */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { readConfig } from '../../../src/config/config.ts';
import type { Application } from '../../../src/domain/call.ts';
import { createLogger } from '../../../src/log.ts';
import { BaselineCall, PROCEDURES } from './baseline-call.ts';
import { openConnections } from './open-connections.ts';
import { fail, type RestAnswer, succeed } from './rest-answers.ts';
import { createSqlStatements } from './sql-statements.ts';
import { createVerbs } from './verbs.ts';

const config = readConfig(process.env, (path) => readFileSync(path, 'utf8'));
const logger = createLogger(config.logLevel);
const verbs = createVerbs(createSqlStatements(openConnections(config.databaseUrl ?? '')), config);

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
  const application = await verbs.authenticate(typeof apiKey === 'string' ? apiKey : undefined);
  call.application = application;
  return route.run(application, request);
}

interface Route {
  readonly procedure: string;
  run(application: Application, request: IncomingMessage): Promise<RestAnswer>;
}

const getWebhook: Route = {
  procedure: PROCEDURES.getWebhook,
  async run(application, { url = '' }) {
    const webhookId = decodeURIComponent(url.slice('/api/webhooks/'.length));
    return succeed('Webhook retrieved successfully', await verbs.getWebhook(application, { webhookId }));
  },
};

const exchangeToken: Route = {
  procedure: PROCEDURES.exchangeToken,
  async run(application, request) {
    const peer = {
      ipAddress: request.socket.remoteAddress ?? '',
      userAgent: request.headers['user-agent'] ?? '',
    };
    const session = await verbs.exchangeToken(application, peer, await readJson(request));
    return succeed('Token exchanged successfully', session);
  },
};

const generateAuthUrl: Route = {
  procedure: PROCEDURES.generateAuthUrl,
  async run(application, request) {
    const { url = '' } = request;
    const clientId = new URLSearchParams(url.slice(url.indexOf('?'))).get('clientId') ?? undefined;
    const fields = { ...(await readJson(request)), clientId };
    return succeed('Auth URL generated successfully', await verbs.generateAuthUrl(application, fields));
  },
};

const deleteEvent: Route = {
  procedure: PROCEDURES.deleteEvent,
  async run(application, { url = '' }) {
    await verbs.deleteEvent(application, { eventId: decodeURIComponent(url.slice('/api/events/'.length)) });
    return succeed('Event deleted successfully');
  },
};

const checkIn: Route = {
  procedure: PROCEDURES.checkIn,
  async run(application, request) {
    const eventId = decodeURIComponent(request.url?.split('/')[3] ?? '');
    const fields = { ...(await readJson(request)), eventId };
    return succeed('Attendee checked in successfully', await verbs.checkIn(application, fields));
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
