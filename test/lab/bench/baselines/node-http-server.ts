/** The lower bound of REST in Node: as little code as possible on `node:http`. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { BaselineCall } from './baseline-call.ts';
import type { Baseline } from './open-baseline.ts';
import {
  createRestOperations,
  type Fields,
  fail,
  type RestAnswer,
  type RestOperation,
  succeed,
} from './rest-operations.ts';

type ReadFields = (request: IncomingMessage) => Fields | Promise<Fields>;

interface Route {
  readonly operation: RestOperation;
  readonly readFields: ReadFields;
}

export function createNodeHttpServer({ logger, operations }: Pick<Baseline, 'logger' | 'operations'>): Server {
  const { getWebhook, exchangeToken, generateAuthUrl, deleteEvent, checkIn } = createRestOperations(operations);
  return createServer(answer);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const route = routeOf(request);
    if (!route) return void response.writeHead(404).end();
    const call = new BaselineCall('rest', request.headers['x-request-id']);
    const { status, envelope } = await run(call, route, request).catch(fail);
    const json = JSON.stringify(envelope);
    response.writeHead(status, {
      'x-request-id': call.requestId,
      'cache-control': 'no-store',
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(json),
    });
    response.end(json);
    call.log(logger, { method: route.operation.procedure, code: status === 200 ? 'ok' : 'error', status });
  }

  async function run(
    call: BaselineCall,
    { operation, readFields }: Route,
    request: IncomingMessage,
  ): Promise<RestAnswer> {
    const apiKey = request.headers['x-api-key'];
    call.application = await operations.authenticate(typeof apiKey === 'string' ? apiKey : undefined);
    const { application, requestId } = call;
    const ipAddress = request.socket.remoteAddress ?? '';
    const caller = { application, requestId, ipAddress, userAgent: request.headers['user-agent'] ?? '' };
    return succeed(operation.message, await operation.run(caller, await readFields(request)));
  }

  function routeOf({ method, url = '' }: IncomingMessage): Route | undefined {
    if (method === 'GET' && url.startsWith('/api/webhooks/'))
      return { operation: getWebhook, readFields: readWebhookId };
    if (method === 'DELETE' && url.startsWith('/api/events/'))
      return { operation: deleteEvent, readFields: readEventId };
    if (method !== 'POST') return undefined;
    if (url === '/api/oauth/exchange') return { operation: exchangeToken, readFields: readJson };
    if (url.startsWith('/api/oauth/generate-auth-url?')) return { operation: generateAuthUrl, readFields: readLogin };
    return url.startsWith('/api/events/') ? { operation: checkIn, readFields: readCheckIn } : undefined;
  }
}

function readWebhookId({ url = '' }: IncomingMessage): Fields {
  return { webhookId: decodeURIComponent(url.slice('/api/webhooks/'.length)) };
}

function readEventId({ url = '' }: IncomingMessage): Fields {
  return { eventId: decodeURIComponent(url.split('/')[3] ?? '') };
}

async function readLogin(request: IncomingMessage): Promise<Fields> {
  const { url = '' } = request;
  const clientId = new URLSearchParams(url.slice(url.indexOf('?'))).get('clientId') ?? undefined;
  return { ...(await readJson(request)), clientId };
}

async function readCheckIn(request: IncomingMessage): Promise<Fields> {
  return { ...(await readJson(request)), ...readEventId(request) };
}

function readJson(request: IncomingMessage): Promise<Fields> {
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
