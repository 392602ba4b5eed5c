/** What the `/api` paths do beside their four calls: routing, media types, limits and request IDs. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { type HttpReply, type HttpRequest, request } from '../support/http.ts';
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
import { sendOver, WIRES } from '../support/wire.ts';

const MAX_BYTES = 65_536;
const EXCHANGE = '/api/oauth/exchange';

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

/** The JSON text of `bytes` bytes: spaces after it do not change what it says. */
function padTo(bytes: number, json: string): string {
  return json.padEnd(bytes, ' ');
}

function expectFailure(reply: HttpReply, status: number, message: string): void {
  expect(reply).toMatchObject({ status, headers: { 'content-type': 'application/json', 'cache-control': 'no-store' } });
  expect(JSON.parse(reply.body)).toStrictEqual({ status: false, message });
}

describe.each(['1.1', '2'] as const)('REST over HTTP/%s', (httpVersion) => {
  const send = ({ headers, ...options }: HttpRequest) =>
    request(service.url, { httpVersion, headers: { 'x-api-key': tenant.apiKey, ...headers }, ...options });
  const post = (path: string, body: string | Uint8Array, headers: Record<string, string> = {}) =>
    send({ method: 'POST', path, body, headers: { 'content-type': 'application/json', ...headers } });

  it.each([
    '/api',
    '/api/',
    '/api/unknown',
    '/api/oauth',
    '/api/oauth/',
    '/api/oauth/exchange/',
    '/api/oauth/exchange/more',
    '/api/oauth/Exchange',
    '/api/oauth%2Fexchange',
    '/api//oauth/exchange',
    '/api/v1/oauth/exchange',
    '/api/webhooks',
    '/api/webhooks/id/more',
    '/api/events',
    '/api/events/id/more',
    '/api/../healthz',
    '/api/usher.v1.AuthService/ExchangeToken',
  ])('404 for the unknown path %s', async (path) => {
    expectFailure(await send({ path }), 404, 'Not found');
    expectFailure(await send({ method: 'POST', path, body: '{}' }), 404, 'Not found');
    expectFailure(await send({ path, headers: { 'x-api-key': '' } }), 404, 'Not found');
  });

  it.each(
    [
      ['/api/oauth/generate-auth-url', 'POST'] as const,
      ['/api/oauth/exchange', 'POST'] as const,
      ['/api/webhooks/webhook', 'GET'] as const,
      ['/api/events/event', 'DELETE'] as const,
    ].flatMap(([path, allow]) =>
      ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
        .filter((method) => method !== allow)
        .map((method) => [method, path, allow] as const),
    ),
  )('405 for %s %s, which allows %s', async (method, path, allow) => {
    const reply = await send({ method, path });
    expectFailure(reply, 405, 'Method not allowed');
    expect(reply.headers.allow).toBe(allow);
  });

  it('405 for HEAD, without a body', async () => {
    const reply = await send({ method: 'HEAD', path: '/api/webhooks/webhook' });
    expect(reply).toMatchObject({ status: 405, headers: { allow: 'GET' }, body: '' });
  });

  describe('A body', () => {
    it('of 64 KiB is taken', async () => {
      expect(await post(EXCHANGE, padTo(MAX_BYTES, JSON.stringify({ authToken })))).toMatchObject({ status: 200 });
      expect(await post(generatePath(), padTo(MAX_BYTES, loginBody()))).toMatchObject({ status: 200 });
    });

    it.each<[string, (bytes: number) => Record<string, string>]>([
      ['as its length says', (bytes) => ({ 'content-length': String(bytes) })],
      ['of no known length', () => (httpVersion === '1.1' ? { 'transfer-encoding': 'chunked' } : {})],
    ])('above 64 KiB, %s, is 413', async (_, headersOf) => {
      for (const bytes of [MAX_BYTES + 1, 4 * MAX_BYTES]) {
        const exchange = await post(EXCHANGE, padTo(bytes, JSON.stringify({ authToken })), headersOf(bytes));
        expectFailure(exchange, 413, 'Payload too large');
        const login = await post(generatePath(), padTo(bytes, loginBody()), headersOf(bytes));
        expectFailure(login, 413, 'Payload too large');
      }
    });

    it.each([
      'text/plain',
      'text/json',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/xml',
      'application/jsonp',
      'application/proto',
      'application/grpc',
      'json',
      'application/json; charset=iso-8859-1',
      'application/json; version=1; charset="utf-16"',
      'application/json; charset=',
      'application/json; charset=utf-8-not',
    ])('of type %s is 415', async (type) => {
      const headers = { 'content-type': type };
      expectFailure(await post(EXCHANGE, JSON.stringify({ authToken }), headers), 415, 'Unsupported media type');
      expectFailure(await post(generatePath(), loginBody(), headers), 415, 'Unsupported media type');
    });

    it.each([
      'application/json; charset=utf-8',
      'application/json;charset=UTF-8',
      'Application/JSON',
      'application/json;',
      'application/json; version=1',
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
      ['with unknown fields', { unknown: 1, clientId: 'client', more: { nested: ['\u0000'] } }],
      ['with fields that every object has', { constructor: 1, toString: null, hasOwnProperty: {} }],
      ['with the fields of a message', { $typeName: 'text', $unknown: [1] }],
    ])('%s is taken as if they were not there', async (_, more) => {
      expect(await post(generatePath(), loginBody(more))).toMatchObject({ status: 200 });
      expect(await post(EXCHANGE, JSON.stringify({ authToken, ...more }))).toMatchObject({ status: 200 });
    });

    it('has no fields of its prototype', async () => {
      const reply = await post(generatePath(), `{"redirectUri":"${REDIRECT_URI}","__proto__":{"state":"state"}}`);
      expect(reply.status).toBe(400);
      expect(JSON.parse(reply.body).errors).toEqual([{ field: 'state', message: expect.stringMatching(/./) }]);
    });

    it('that is too large or of another type is 401 without a valid API key', async () => {
      const headers = { 'x-api-key': 'usk_' };
      expectFailure(await post(EXCHANGE, padTo(MAX_BYTES + 1, '{}'), headers), 401, 'Invalid API key');
      const typed = await post(EXCHANGE, '{}', { ...headers, 'content-type': 'text/plain' });
      expectFailure(typed, 401, 'Invalid API key');
    });
  });

  it.each<[string, Record<string, string>]>([
    ['no type', {}],
    ['a JSON type', { 'content-type': 'application/json' }],
    ['a text type', { 'content-type': 'text/plain' }],
    ['an unknown type', { 'content-type': 'application/x-none-such' }],
  ])('DELETE takes an empty body of %s', async (_, headers) => {
    const reply = await send({
      method: 'DELETE',
      path: `/api/events/${await createTestEvent(service, tenant)}`,
      headers,
    });
    expect(reply.status).toBe(200);
    expect(JSON.parse(reply.body)).toStrictEqual({ status: true, message: 'Event deleted successfully' });
  });

  it('GET takes any type', async () => {
    const path = `/api/webhooks/wh_${'0'.repeat(32)}`;
    expectFailure(await send({ path, headers: { 'content-type': 'text/plain' } }), 404, 'Webhook not found');
  });

  it('takes a query that no route asks for', async () => {
    expect(await post(`${EXCHANGE}?authToken=other&x=%FF`, JSON.stringify({ authToken }))).toMatchObject({
      status: 200,
    });
  });

  describe('The x-request-id', () => {
    const replies: [number, string, (headers: Record<string, string>) => Promise<HttpReply>][] = [
      [200, 'a success', (headers) => post(generatePath(), loginBody(), headers)],
      [400, 'invalid fields', (headers) => post(generatePath(), '{}', headers)],
      [401, 'a wrong key', (headers) => post(EXCHANGE, '{}', { ...headers, 'x-api-key': 'usk_' })],
      [404, 'an unknown webhook', (headers) => send({ path: `/api/webhooks/wh_${'0'.repeat(32)}`, headers })],
      [404, 'an unknown path', (headers) => send({ path: '/api/unknown', headers })],
      [405, 'a wrong method', (headers) => send({ path: EXCHANGE, headers })],
      [413, 'a body too large', (headers) => post(EXCHANGE, padTo(MAX_BYTES + 1, '{}'), headers)],
      [415, 'a wrong type', (headers) => post(EXCHANGE, '{}', { ...headers, 'content-type': 'text/plain' })],
    ];

    it.each(replies)('of the caller is on the reply: %i, %s', async (status, _, call) => {
      const requestId = randomUUID();
      expect(await call({ 'x-request-id': requestId })).toMatchObject({
        status,
        headers: { 'x-request-id': requestId },
      });
    });

    it.each(replies)('is a new one where the caller has none: %i, %s', async (status, _, call) => {
      const [first, second] = [await call({}), await call({})];
      expect(first).toMatchObject({ status, headers: { 'x-request-id': expect.stringMatching(/^[\w-]{16,}$/) } });
      expect(first.headers['x-request-id']).not.toBe(second.headers['x-request-id']);
    });

    it.each(['a', 'req_1234567890', '01HQ3X.trace-7', '0af7651916cd43dd8448eb211c80319c', 'a'.repeat(128)])(
      'is kept when it is %s',
      async (requestId) => {
        const reply = await send({ path: '/api/unknown', headers: { 'x-request-id': requestId } });
        expect(reply.headers['x-request-id']).toBe(requestId);
      },
    );

    it.each([
      ['is empty', ''],
      ['has a space', 'a b'],
      ['has a quote', 'a"b'],
      ['has a tag', '<b>'],
      ['has braces', '{"a":1}'],
      ['is a list', 'a, b'],
      ['is beyond ASCII', 'caf\u00e9'],
      ['has 129 characters', 'a'.repeat(129)],
    ])('is replaced when it %s', async (_, requestId) => {
      const reply = await send({ path: '/api/unknown', headers: { 'x-request-id': requestId } });
      expect(reply.status).toBe(404);
      expect(reply.headers['x-request-id']).toMatch(/^[\w-]{16,64}$/);
    });
  });
});

describe.each(WIRES.filter(({ protocol }) => protocol === 'rest'))('$name', (wire) => {
  it.each<[string, string, string]>([
    ['JSON', 'application/json', '{"eventId":"another"}'],
    ['malformed JSON', 'application/json', '{"eventId":'],
    ['another type', 'application/xml', '<event/>'],
  ])('DELETE takes a body of %s, which says nothing', async (_, type, body) => {
    const reply = await sendOver(wire, service.url, {
      method: EventService.method.deleteEvent,
      fields: { eventId: await createTestEvent(service, tenant) },
      headers: { 'x-api-key': tenant.apiKey, 'content-type': type },
      body,
    });
    expect(reply.status).toBe(200);
    expect(JSON.parse(reply.body.toString())).toStrictEqual({ status: true, message: 'Event deleted successfully' });
  });

  it.each<[string, DescMethodUnary, JsonObject]>([
    ['POST', AuthService.method.exchangeToken, {}],
    ['GET', WebhookService.method.getWebhook, { webhookId: 'webhook' }],
    ['DELETE', EventService.method.deleteEvent, { eventId: 'event' }],
  ])('413 for %s as soon as the length of the body is known', async (_, method, fields) => {
    const reply = await sendOver(wire, service.url, {
      method,
      fields,
      headers: { 'x-api-key': tenant.apiKey, 'content-length': String(MAX_BYTES + 1) },
      isBodyPending: true,
    });
    expect(reply.status).toBe(413);
    expect(JSON.parse(reply.body.toString())).toStrictEqual({ status: false, message: 'Payload too large' });
  });
});

describe('REST over HTTP/2', () => {
  it('lets go of a client that goes away on a 413', async () => {
    // On a database that outlives it: only the service is timed.
    const { database, config: like } = service;
    const left = await startTestService({ database, like, config: { shutdownTimeoutMs: 4_000 } });
    const session = connect(left.url);
    session.on('error', () => {});
    const stream = session.request({ ':method': 'POST', ':path': EXCHANGE, 'x-api-key': tenant.apiKey });
    stream.on('error', () => {});
    stream.end(Buffer.alloc(4 * MAX_BYTES, ' '));
    await once(stream, 'response');
    session.destroy();
    // A service that still waits for the client does so until its shutdown timeout.
    const closed = left.close().then(() => 'closed');
    expect(await Promise.race([closed, sleep(2_000, 'still waiting')])).toBe('closed');
  });

  it('ends the stream of a body that is too large, so that its rest need not be sent', async () => {
    const session = connect(service.url);
    try {
      const stream = session.request({ ':method': 'POST', ':path': EXCHANGE, 'x-api-key': tenant.apiKey });
      stream.on('error', () => {});
      const closed = once(stream, 'close').then(() => 'closed');
      stream.end(Buffer.alloc(4 * MAX_BYTES, ' '));
      const [head] = await once(stream, 'response');
      expect(head[':status']).toBe(413);
      expect(JSON.parse(await text(stream))).toStrictEqual({ status: false, message: 'Payload too large' });
      expect(await Promise.race([closed, sleep(3_000, 'open')])).toBe('closed');
    } finally {
      session.destroy();
    }
  });
});
