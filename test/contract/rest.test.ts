/** What the `/api` paths do beside their operations: routing, media types, limits and request IDs. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../src/api/catalogue.ts';
import { type HttpReply, type HttpRequest, request } from '../support/http.ts';
import { openHttp2Session, readReply } from '../support/http2-session.ts';
import {
  createTenant,
  createTestEvent,
  createTestUser,
  logIn,
  REDIRECT_URI,
  startTestService,
  type Tenant,
  type TestService,
} from '../support/service.ts';

const MAX_BYTES = 65_536;
const EXCHANGE = '/api/oauth/exchange';
const WEBHOOK = `/api/webhooks/wh_${'0'.repeat(32)}`;
const HTTP_VERSIONS = ['1.1', '2'] as const;

let service: TestService;
let tenant: Tenant;
let authToken: string;

beforeAll(async () => {
  service = await startTestService();
  tenant = await createTenant(service);
  authToken = await logIn(service, tenant, await createTestUser(service));
});

afterAll(() => service.close());

const generatePath = () => `/api/oauth/generate-auth-url?clientId=${tenant.clientId}`;
const loginBody = (more: object = {}) => JSON.stringify({ redirectUri: REDIRECT_URI, state: 'state', ...more });

const send = ({ headers, ...options }: HttpRequest) =>
  request(service.url, { headers: { 'x-api-key': tenant.apiKey, ...headers }, ...options });
const post = (path: string, body: string | Uint8Array, headers: Record<string, string> = {}) =>
  send({ method: 'POST', path, body, headers: { 'content-type': 'application/json', ...headers } });

/** Returns the JSON text with spaces after it, `bytes` long: they do not change what it says. */
function padTo(bytes: number, json: string): string {
  return json.padEnd(bytes, ' ');
}

function expectFailure(reply: HttpReply, status: number, message: string): void {
  expect(reply).toMatchObject({ status, headers: { 'content-type': 'application/json', 'cache-control': 'no-store' } });
  expect(JSON.parse(reply.body)).toStrictEqual({ status: false, message });
}

describe('A path', () => {
  it.each([
    '/api',
    '/api/',
    '/api/unknown',
    '/api/oauth/',
    '/api/oauth/exchange/',
    '/api/oauth/exchange/more',
    '/api/oauth/Exchange',
    '/api/oauth%2Fexchange',
    '/api//oauth/exchange',
    '/api/v1/oauth/exchange',
    '/api/webhooks/id/more/x',
    '/api/../healthz',
    '/api/usher.v1.AuthService/ExchangeToken',
  ])('%s is 404, with and without a key', async (path) => {
    expectFailure(await send({ path }), 404, 'Not found');
    expectFailure(await send({ method: 'POST', path, body: '{}', headers: { 'x-api-key': '' } }), 404, 'Not found');
  });

  const routes = OPERATIONS.flatMap(({ route }) => (route ? [route] : []));
  it.each([...new Set(routes.map(({ path }) => path))])('%s is 405 for any other method', async (path) => {
    const allowed = routes.filter((route) => route.path === path).map(({ method }) => String(method));
    const others = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].filter((method) => !allowed.includes(method));
    for (const method of others) {
      const reply = await send({ method, path: path.replaceAll(/:\w+/g, 'id') });
      expectFailure(reply, 405, 'Method not allowed');
      expect(reply.headers.allow).toBe(allowed.join(', '));
    }
  });

  it('is 405 for HEAD, without a body', async () => {
    const reply = await send({ method: 'HEAD', path: '/api/webhooks/webhook' });
    expect(reply).toMatchObject({ status: 405, body: '' });
  });
});

describe('A body', () => {
  it('of 64 KiB is taken', async () => {
    expect(await post(EXCHANGE, padTo(MAX_BYTES, JSON.stringify({ authToken })))).toMatchObject({ status: 200 });
  });

  it.each([
    ['as its length says', (bytes: number) => ({ 'content-length': String(bytes) })],
    ['of no known length', () => ({ 'transfer-encoding': 'chunked' })],
  ])('above 64 KiB, %s, is 413', async (_, headersOf) => {
    for (const bytes of [MAX_BYTES + 1, 4 * MAX_BYTES]) {
      const body = padTo(bytes, JSON.stringify({ authToken }));
      expectFailure(await post(EXCHANGE, body, headersOf(bytes)), 413, 'Payload too large');
    }
  });

  it.each(HTTP_VERSIONS.flatMap((version) => ['POST', 'GET', 'DELETE'].map((method) => [version, method] as const)))(
    'is 413 over HTTP/%s and %s as soon as its length is known',
    async (httpVersion, method) => {
      const path = { POST: EXCHANGE, GET: '/api/webhooks/webhook', DELETE: '/api/events/event' }[method] ?? '';
      const headers = { 'content-length': String(MAX_BYTES + 1) };
      expectFailure(await send({ httpVersion, method, path, headers, isBodyPending: true }), 413, 'Payload too large');
    },
  );

  it.each([
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'application/grpc',
    'json',
    'application/json; charset=iso-8859-1',
    'application/json; version=1; charset="utf-16"',
    'application/json; charset=',
    'application/json; charset=utf-8-not',
  ])('of type %s is 415', async (type) => {
    const reply = await post(EXCHANGE, JSON.stringify({ authToken }), { 'content-type': type });
    expectFailure(reply, 415, 'Unsupported media type');
  });

  it.each([
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'Application/JSON',
    'application/json;',
    'application/json; version=1; charset="utf-8"',
  ])('of type %s is taken', async (type) => {
    expect(await post(generatePath(), loginBody(), { 'content-type': type })).toMatchObject({ status: 200 });
  });

  it('of no type counts as JSON', async () => {
    const { body } = await send({ method: 'POST', path: generatePath(), body: loginBody() });
    expect(JSON.parse(body)).toMatchObject({ status: true });
    const malformed = await send({ method: 'POST', path: generatePath(), body: 'state=state' });
    expect(JSON.parse(malformed.body)).toMatchObject({ status: false, message: 'Validation failed' });
  });

  it.each([
    ['unknown fields', { unknown: 1, clientId: 'client', more: { nested: ['\u0000'] } }],
    ['fields that every object has', { constructor: 1, toString: null, hasOwnProperty: {} }],
    ['the fields of a message', { $typeName: 'text', $unknown: [1] }],
  ])('with %s is taken as if they were not there', async (_, more) => {
    expect(await post(generatePath(), loginBody(more))).toMatchObject({ status: 200 });
  });

  it('has no fields of its prototype', async () => {
    const reply = await post(generatePath(), `{"redirectUri":"${REDIRECT_URI}","__proto__":{"state":"state"}}`);
    expect(JSON.parse(reply.body).errors).toEqual([{ field: 'state', message: expect.stringMatching(/./) }]);
  });

  it('that is too large or of another type is 401 without a valid API key', async () => {
    const headers = { 'x-api-key': 'usk_' };
    expectFailure(await post(EXCHANGE, padTo(MAX_BYTES + 1, '{}'), headers), 401, 'Invalid API key');
    const typed = await post(EXCHANGE, '{}', { ...headers, 'content-type': 'text/plain' });
    expectFailure(typed, 401, 'Invalid API key');
  });

  it.each([
    ['no type', {}, undefined],
    ['a text type', { 'content-type': 'text/plain' }, undefined],
    ['an unknown type', { 'content-type': 'application/x-none-such' }, undefined],
    ['JSON', { 'content-type': 'application/json' }, '{"eventId":"another"}'],
    ['malformed JSON', { 'content-type': 'application/json' }, '{"eventId":'],
    ['XML', { 'content-type': 'application/xml' }, '<event/>'],
  ])('of a DELETE means nothing, be it of %s', async (_, headers: Record<string, string>, body) => {
    const path = `/api/events/${await createTestEvent(service, tenant)}`;
    const length: Record<string, string> = body ? { 'content-length': String(body.length) } : {};
    const reply = await send({ method: 'DELETE', path, headers: { ...headers, ...length }, body });
    expect(reply.status).toBe(200);
    expect(JSON.parse(reply.body)).toStrictEqual({ status: true, message: 'Event deleted successfully' });
  });

  it('of a GET means nothing', async () => {
    expectFailure(await send({ path: WEBHOOK, headers: { 'content-type': 'text/plain' } }), 404, 'Webhook not found');
  });
});

it('takes a query that no route asks for', async () => {
  const reply = await post(`${EXCHANGE}?authToken=other&x=%FF`, JSON.stringify({ authToken }));
  expect(reply).toMatchObject({ status: 200 });
});

describe.each(HTTP_VERSIONS)('The x-request-id over HTTP/%s', (httpVersion) => {
  const json = { 'content-type': 'application/json' };
  const replies: [number, string, () => HttpRequest][] = [
    [200, 'a success', () => ({ method: 'POST', path: generatePath(), body: loginBody(), headers: json })],
    [400, 'invalid fields', () => ({ method: 'POST', path: generatePath(), body: '{}', headers: json })],
    [401, 'a wrong key', () => ({ path: WEBHOOK, headers: { 'x-api-key': 'usk_' } })],
    [404, 'an unknown webhook', () => ({ path: WEBHOOK })],
    [404, 'an unknown path', () => ({ path: '/api/unknown' })],
    [405, 'a wrong method', () => ({ path: EXCHANGE })],
    [413, 'a body too large', () => ({ method: 'POST', path: EXCHANGE, body: padTo(MAX_BYTES + 1, '{}') })],
    [415, 'a wrong type', () => ({ method: 'POST', path: EXCHANGE, headers: { 'content-type': 'text/plain' } })],
  ];

  it.each(replies)("is the caller's, or else a new one, on a %i for %s", async (status, _, requestOf) => {
    const { headers, ...options } = requestOf();
    const requestId = randomUUID();
    const kept = await send({ httpVersion, ...options, headers: { ...headers, 'x-request-id': requestId } });
    expect(kept).toMatchObject({ status, headers: { 'x-request-id': requestId } });
    const [first, second] = [await send({ httpVersion, ...requestOf() }), await send({ httpVersion, ...requestOf() })];
    expect(first).toMatchObject({ status, headers: { 'x-request-id': expect.stringMatching(/^[\w-]{16,}$/) } });
    expect(first.headers['x-request-id']).not.toBe(second.headers['x-request-id']);
  });
});

describe('The x-request-id', () => {
  const idFor = async (requestId: string) =>
    (await send({ path: '/api/unknown', headers: { 'x-request-id': requestId } })).headers['x-request-id'];

  it.each(['a', 'req_1234567890', '01HQ3X.trace-7', '0af7651916cd43dd8448eb211c80319c', 'a'.repeat(128)])(
    'is kept when it is %s',
    async (requestId) => {
      expect(await idFor(requestId)).toBe(requestId);
    },
  );

  it.each(['', 'a b', 'a"b', '<b>', '{"a":1}', 'a, b', 'caf\u00e9', 'a'.repeat(129)])(
    'is replaced when it is %j',
    async (requestId) => {
      expect(await idFor(requestId)).toMatch(/^[\w-]{16,64}$/);
    },
  );
});

describe('A body that is too large over HTTP/2', () => {
  const openTooLarge = (url: string) => {
    const client = openHttp2Session(url);
    const stream = client.open({ ':method': 'POST', ':path': EXCHANGE, 'x-api-key': tenant.apiKey });
    stream.end(Buffer.alloc(4 * MAX_BYTES, ' '));
    return { client, stream };
  };

  it('ends its stream, so that its rest need not be sent', async () => {
    const { client, stream } = openTooLarge(service.url);
    using _ = client;
    const closed = once(stream, 'close').then(() => 'closed');
    expectFailure(await readReply(stream), 413, 'Payload too large');
    expect(await Promise.race([closed, sleep(3_000, 'open')])).toBe('closed');
  });

  it('does not keep a service from closing when its client goes away', async () => {
    // On a database that outlives it: only the service is timed.
    const { database, config: like } = service;
    const left = await startTestService({ database, like, config: { shutdownTimeoutMs: 4_000 } });
    const { client, stream } = openTooLarge(left.url);
    await once(stream, 'response');
    client[Symbol.dispose]();
    // A service that still waits for the client does so until its shutdown timeout.
    const closed = left.close().then(() => 'closed');
    expect(await Promise.race([closed, sleep(2_000, 'still waiting')])).toBe('closed');
  });
});
