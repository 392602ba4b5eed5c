/** What the `/api` paths do beside their operations: routing, media types, limits and request IDs. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { success } from '../support/answers.ts';
import { type HttpReply, type HttpRequest, request } from '../support/http.ts';
import { openHttp2Session, readReply } from '../support/http2-session.ts';
import { OPERATIONS } from '../support/operations.ts';
import { comparable, REST, toRequest } from '../support/protocols.ts';
import { credentialFor, sampleFields } from '../support/samples.ts';
import { createTestEvent, REDIRECT_URI, startTestService } from '../support/service.ts';
import { openContractFixture } from './contract-fixture.ts';

const MAX_BYTES = 65_536;
const EXCHANGE = '/api/oauth/exchange';
const WEBHOOK = `/api/webhooks/wh_${'0'.repeat(32)}`;
const HTTP_VERSIONS = ['1.1', '2'] as const;
const JSON_TYPE = { 'content-type': 'application/json' };

const { service, tenant, credentials } = await openContractFixture();
const GENERATE = `/api/oauth/generate-auth-url?clientId=${tenant.clientId}`;

const loginBody = (more: object = {}) => JSON.stringify({ redirectUri: REDIRECT_URI, state: 'state', ...more });
const send = ({ headers, ...options }: HttpRequest) =>
  request(service.url, { headers: { ...credentials, ...headers }, ...options });
const generate = (body: string, headers: Record<string, string> = JSON_TYPE) => send({ path: GENERATE, body, headers });

function expectFailure(reply: HttpReply, status: number, message: string): void {
  expect(reply).toMatchObject({ status, headers: { 'cache-control': 'no-store' } });
  expect(REST.read(reply)).toMatchObject({ message });
}

describe('A path', () => {
  // More of them: test/robustness/rest-malformed.test.ts.
  it.each(['/api', '/api/oauth/exchange/', '/api/oauth/Exchange', '/api/usher.v1.AuthService/ExchangeToken'])(
    '%s is 404, with and without a key',
    async (path) => {
      expectFailure(await send({ path }), 404, 'Not found');
      expectFailure(await send({ path, body: '{}', headers: { 'x-api-key': '' } }), 404, 'Not found');
    },
  );

  const routes = OPERATIONS.flatMap(({ route }) => (route ? [route] : []));
  it.each([...new Set(routes.map(({ path }) => path))])('%s is 405 for any other method', async (path) => {
    const methods = routes.filter((route) => route.path === path).map(({ method }) => String(method));
    const allowed = methods.includes('GET') ? [...methods, 'HEAD'] : methods;
    const others = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].filter((method) => !allowed.includes(method));
    for (const method of others) {
      const reply = await send({ method, path: path.replaceAll(/:\w+/g, 'id') });
      expectFailure(reply, 405, 'Method not allowed');
      expect(reply.headers.allow?.split(', ').sort()).toEqual(allowed.sort());
    }
  });
});

describe.each(OPERATIONS.filter(({ route }) => route?.method === 'GET'))('HEAD of $route.path', (operation) => {
  it.each(HTTP_VERSIONS)('has the headers of GET and no body, over HTTP/%s', async (httpVersion) => {
    const { method } = operation;
    const fields = await sampleFields(method, { service, tenant });
    const { path, headers } = toRequest(REST, { method, fields, headers: credentialFor(operation, tenant) });
    for (const each of [headers, {}]) {
      const get = comparable(await request(service.url, { httpVersion, path, headers: each }));
      const head = comparable(await request(service.url, { httpVersion, method: 'HEAD', path, headers: each }));
      expect(get.headers).toContainEqual(['content-length', String(get.body.length)]);
      expect(head).toEqual({ ...get, body: '' });
    }
  });
});

describe('A body', () => {
  it.each(HTTP_VERSIONS.flatMap((version) => ['POST', 'GET', 'DELETE'].map((method) => [version, method] as const)))(
    'above 64 KiB is 413 over HTTP/%s and %s as soon as its length is known',
    async (httpVersion, method) => {
      const path = { POST: EXCHANGE, GET: WEBHOOK, DELETE: '/api/events/event' }[method] ?? '';
      const headers = { 'content-length': String(MAX_BYTES + 1) };
      expectFailure(await send({ httpVersion, method, path, headers, isBodyPending: true }), 413, 'Payload too large');
    },
  );

  it.each(['text/plain', 'application/jsonp', 'application/json; charset=iso-8859-1', 'application/json; charset='])(
    'of type %s is 415, or 401 without a valid API key',
    async (type) => {
      const headers = { 'content-type': type };
      expectFailure(await generate(loginBody(), headers), 415, 'Unsupported media type');
      expectFailure(await generate(loginBody(), { ...headers, 'x-api-key': 'usk_' }), 401, 'Invalid API key');
    },
  );

  it.each([
    'application/json;charset=UTF-8',
    'Application/JSON',
    'application/json;',
    'application/json; version=1; charset="utf-8"',
  ])('of type %s is taken', async (type) => {
    expect(await generate(loginBody(), { 'content-type': type })).toMatchObject({ status: 200 });
  });

  it('of no type counts as JSON', async () => {
    expect(await generate(loginBody(), {})).toMatchObject({ status: 200 });
    expectFailure(await generate('state=state', {}), 400, 'Validation failed');
  });

  it.each([
    ['unknown fields', { unknown: 1, clientId: 'client', more: { nested: ['\u0000'] } }],
    ['fields that every object has', { constructor: 1, toString: null, hasOwnProperty: {} }],
    ['the fields of a message', { $typeName: 'text', $unknown: [1] }],
  ])('with %s is taken as if they were not there', async (_, more) => {
    expect(await generate(loginBody(more))).toMatchObject({ status: 200 });
  });

  it.each([
    ['no type', {}, undefined],
    ['a text type', { 'content-type': 'text/plain' }, undefined],
    ['malformed JSON', JSON_TYPE, '{"eventId":'],
    ['XML', { 'content-type': 'application/xml' }, '<event/>'],
  ])('of a DELETE means nothing, be it of %s', async (_, headers: Record<string, string>, body) => {
    const path = `/api/events/${await createTestEvent(service, tenant)}`;
    const length: Record<string, string> = body ? { 'content-length': String(body.length) } : {};
    const reply = await send({ method: 'DELETE', path, headers: { ...headers, ...length }, body });
    const { payload: _payload, ...outcome } = REST.read(reply);
    expect(outcome).toEqual(success(undefined, 'Event deleted successfully'));
  });

  it('of a GET means nothing', async () => {
    expectFailure(await send({ path: WEBHOOK, headers: { 'content-type': 'text/plain' } }), 404, 'Webhook not found');
  });
});

describe.each(HTTP_VERSIONS)('The x-request-id over HTTP/%s', (httpVersion) => {
  it.each<[number, string, HttpRequest]>([
    [200, 'a success', { path: GENERATE, body: loginBody(), headers: JSON_TYPE }],
    [200, 'the health', { path: '/healthz' }],
    [400, 'invalid fields', { path: GENERATE, body: '{}', headers: JSON_TYPE }],
    [401, 'a wrong key', { path: WEBHOOK, headers: { 'x-api-key': 'usk_' } }],
    [404, 'an unknown webhook', { path: WEBHOOK }],
    [404, 'an unknown path', { path: '/api/unknown' }],
    [404, 'a path of no API', { path: '/nothing' }],
    [405, 'a wrong method', { path: EXCHANGE }],
    [405, 'a wrong method of an RPC', { path: '/usher.v1.WebhookService/GetWebhook' }],
    [413, 'a body too large', { path: EXCHANGE, body: '{}'.padEnd(MAX_BYTES + 1) }],
    [415, 'a wrong type', { method: 'POST', path: EXCHANGE, headers: { 'content-type': 'text/plain' } }],
  ])("is the caller's, or else a new one, on a %i for %s", async (status, _, { headers = {}, ...options }) => {
    const requestId = randomUUID();
    const kept = await send({ httpVersion, ...options, headers: { ...headers, 'x-request-id': requestId } });
    expect(kept).toMatchObject({ status, headers: { 'x-request-id': requestId } });
    const [first, second] = await Promise.all([1, 2].map(() => send({ httpVersion, headers, ...options })));
    expect(first).toMatchObject({ status, headers: { 'x-request-id': expect.stringMatching(/^[\w-]{16,}$/) } });
    expect(first?.headers['x-request-id']).not.toBe(second?.headers['x-request-id']);
  });
});

describe('The x-request-id', () => {
  const idFor = async (requestId: string) =>
    (await send({ path: '/api/unknown', headers: { 'x-request-id': requestId } })).headers['x-request-id'];

  it.each(['a', 'req_1234567890', '01HQ3X.trace-7', 'a'.repeat(128)])('is kept when it is %s', async (requestId) => {
    expect(await idFor(requestId)).toBe(requestId);
  });

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
    const closed = once(stream, 'close');
    expectFailure(await readReply(stream), 413, 'Payload too large');
    await closed;
  });

  it('does not keep a service from closing when its client goes away', async () => {
    // On a database that outlives it: only the service is timed.
    const { database, config: like } = service;
    const left = await startTestService({ database, like, config: { shutdownTimeoutMs: 600_000 } });
    const { client, stream } = openTooLarge(left.url);
    await once(stream, 'response');
    client[Symbol.dispose]();
    // A service that still waits for the client does so until its shutdown timeout.
    await left.close();
  });
});
