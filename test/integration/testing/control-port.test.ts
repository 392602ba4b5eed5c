/** The control port of `npx usher-testing`: its members, and whom it refuses. The process: test/robustness/testing-package.test.ts. */
import { afterAll, describe, expect, test } from 'vitest';
import { createControlMembers } from '../../../src/testing/control-members.ts';
import { CONTROL_ERRORS, openControlPort } from '../../../src/testing/control-port.ts';
import { startUsher } from '../../../src/testing/usher-testing.ts';
import { openHttpClient, request } from '../../support/http.ts';

type Json = Record<string, unknown>;

const usher = await startUsher();
let stops = 0;
const control = await openControlPort(usher, { port: 0, stop: () => void stops++ });
afterAll(async () => {
  await control[Symbol.asyncDispose]();
  await usher[Symbol.asyncDispose]();
});

const KEY = { authorization: `Bearer ${control.key}` };
const JSON_TYPE = { 'content-type': 'application/json' };
const { host } = new URL(control.url);

async function call(path: string, parameters: Json = {}): Promise<{ status: number; answer: Json }> {
  const sent = { path, headers: { ...KEY, ...JSON_TYPE }, body: JSON.stringify(parameters) };
  const { status, body } = await request(control.url, sent);
  return { status, answer: JSON.parse(body) };
}

async function callOrThrow(path: string, parameters: Json = {}): Promise<Json> {
  const { status, answer } = await call(path, parameters);
  expect({ path, status, answer }).toMatchObject({ status: 200 });
  return answer;
}

/** Starts a login of a new application. */
async function beginLogin() {
  const shop = await callOrThrow('/create-application', { name: 'Shop' });
  const begun = { clientId: shop.clientId, redirectUri: 'http://127.0.0.1/callback', state: 'a state' };
  const { body } = await request(usher.url, {
    path: '/usher.v1.AuthService/GenerateAuthUrl',
    headers: { ...JSON_TYPE, 'x-api-key': String(shop.apiKey) },
    body: JSON.stringify(begun),
  });
  return { shop, authUrl: String(JSON.parse(body).authUrl) };
}

/** Exchanges the token with the key of the application, and returns the user. */
async function exchange(shop: Json, authToken: unknown): Promise<Json> {
  const headers = { ...JSON_TYPE, 'x-api-key': String(shop.apiKey) };
  const path = '/usher.v1.AuthService/ExchangeToken';
  return JSON.parse((await request(usher.url, { path, headers, body: JSON.stringify({ authToken }) })).body).user;
}

describe('refuses', () => {
  const TWICE = '{"address":"a","address":"b"}';
  const NOW = '/clock/now';
  test.each([
    ['no key', 401, 'INVALID_CONTROL_KEY', { headers: JSON_TYPE }],
    ['another key', 401, 'INVALID_CONTROL_KEY', { headers: { ...JSON_TYPE, authorization: 'Bearer another' } }],
    ['the key by Basic', 401, 'INVALID_CONTROL_KEY', { headers: { authorization: `Basic ${control.key}` } }],
    ['the admin key', 401, 'INVALID_CONTROL_KEY', { headers: { authorization: `Bearer ${usher.adminKey}` } }],
    ['a part of the key', 401, 'INVALID_CONTROL_KEY', { headers: { authorization: KEY.authorization.slice(0, -1) } }],
    ['an unknown path without a key', 401, 'INVALID_CONTROL_KEY', { path: '/nothing', headers: JSON_TYPE }],
    ['the host of others', 400, 'INVALID_HOST', { headers: { ...KEY, ...JSON_TYPE, host: 'evil.test' } }],
    [
      'their host with the port',
      400,
      'INVALID_HOST',
      { headers: { ...KEY, host: host.replace('127.0.0.1', 'evil.test') } },
    ],
    ['the host with another port', 400, 'INVALID_HOST', { headers: { ...KEY, host: '127.0.0.1:1' } }],
    [
      'the page of others',
      403,
      'ORIGIN_NOT_ALLOWED',
      { headers: { ...KEY, ...JSON_TYPE, origin: 'https://evil.test' } },
    ],
    ['its own page', 403, 'ORIGIN_NOT_ALLOWED', { headers: { ...KEY, ...JSON_TYPE, origin: control.url } }],
    ['a sandboxed page', 403, 'ORIGIN_NOT_ALLOWED', { headers: { ...KEY, ...JSON_TYPE, origin: 'null' } }],
    ['a link of others', 403, 'ORIGIN_NOT_ALLOWED', { headers: { ...KEY, 'sec-fetch-site': 'cross-site' } }],
    ['GET', 405, 'METHOD_NOT_ALLOWED', { method: 'GET', headers: KEY }],
    ['PUT', 405, 'METHOD_NOT_ALLOWED', { method: 'PUT', headers: { ...KEY, ...JSON_TYPE } }],
    ['OPTIONS of a page', 403, 'ORIGIN_NOT_ALLOWED', { method: 'OPTIONS', headers: { origin: 'https://evil.test' } }],
    ['an unknown path', 404, 'NOT_FOUND', { path: '/nothing', headers: { ...KEY, ...JSON_TYPE } }],
    ['a name of objects', 404, 'NOT_FOUND', { path: '/constructor', headers: { ...KEY, ...JSON_TYPE } }],
    ['a form', 415, 'UNSUPPORTED_MEDIA_TYPE', { headers: { ...KEY, 'content-type': 'text/plain' }, body: '{}' }],
    ['a big body', 413, 'PAYLOAD_TOO_LARGE', { headers: { ...KEY, ...JSON_TYPE }, body: ' '.repeat(65_537) }],
    ['no JSON', 400, 'VALIDATION_FAILED', { headers: { ...KEY, ...JSON_TYPE }, body: '{' }],
    ['a list', 400, 'VALIDATION_FAILED', { headers: { ...KEY, ...JSON_TYPE }, body: '[]' }],
    ['a name twice', 400, 'VALIDATION_FAILED', { path: '/mails', headers: { ...KEY, ...JSON_TYPE }, body: TWICE }],
  ] as const)('%s with %i %s', async (_, status, reason, sent) => {
    const reply = await request(control.url, { path: NOW, method: 'POST', ...sent });
    expect({ status: reply.status, ...JSON.parse(reply.body) }).toMatchObject({ status: false, reason });
    expect(reply.status).toBe(status);
    expect(reply.headers).not.toHaveProperty('access-control-allow-origin');
    expect(await call(NOW)).toMatchObject({ status: 200 });
  });

  test('a big body that tells no length, before it has all of it', async () => {
    using client = openHttpClient(control.url, { httpVersion: '1.1' });
    const sent = { path: NOW, method: 'POST', headers: { ...KEY, ...JSON_TYPE, 'content-length': '100000000' } };
    expect((await client.send({ ...sent, isBodyPending: true })).status).toBe(413);
  });

  test('nobody over HTTP/2 who has no key, and answers whoever has it', async () => {
    const sent = { httpVersion: '2', path: NOW, method: 'POST', body: '{}' } as const;
    expect((await request(control.url, { ...sent, headers: JSON_TYPE })).status).toBe(401);
    expect((await request(control.url, { ...sent, headers: { ...JSON_TYPE, ...KEY } })).status).toBe(200);
  });
});

test.each([
  ['/clock/advance', {}, 'duration'],
  ['/clock/advance', { duration: 'soon' }, 'duration'],
  ['/clock/advance', { duration: -1 }, 'duration'],
  ['/clock/advance', { duration: '1m', by: 1 }, 'by'],
  ['/clock/set', { date: 'tomorrow' }, 'date'],
  ['/clock/now', { zone: 'UTC' }, 'zone'],
  ['/sign-in', { authUrl: 'http://127.0.0.1/' }, 'user'],
  ['/sign-in', { authUrl: 'http://127.0.0.1/', user: 'a@b.test', how: 'email' }, 'how'],
  ['/sign-in', { authUrl: 'http://127.0.0.1/', user: 'a@b.test', how: { metod: 'email' } }, 'how.metod'],
  ['/sign-in', { authUrl: 'http://127.0.0.1/', user: 'a@b.test', how: { assurance: 'HIGH' } }, 'how.assurance'],
  ['/outage', { kind: 'earthquake' }, 'kind'],
  ['/outage/end', { kind: 'slow' }, 'kind'],
  ['/create-application', { redirectUri: 'http://127.0.0.1/' }, 'redirectUri'],
  ['/create-application', { redirectUris: 'http://127.0.0.1/' }, 'body'],
  ['/create-user', { email: 'nobody' }, 'email'],
  ['/audit-events', { since: 'yesterday' }, 'since'],
  ['/receive-webhooks', { application: 'client_of_another_server' }, 'application'],
  ['/webhooks/next', { webhookId: 'wh_1' }, 'webhookId'],
  ['/webhooks/next', { webhookId: 'wh_1', type: 'session.begun' }, 'type'],
  ['/webhooks/fail', { webhookId: 'wh_1', times: 0 }, 'times'],
  ['/next-mail', { adress: 'ada@example.com' }, 'adress'],
])('%s %j is refused, and %s named', async (path, parameters, field) => {
  const { status, answer } = await call(path, parameters);
  expect({ status, answer }).toMatchObject({ status: 400, answer: { reason: 'VALIDATION_FAILED' } });
  expect(answer.errors).toMatchObject([{ field }]);
});

test('signs a user in whose session the clock ends', async () => {
  const { shop, authUrl } = await beginLogin();
  const signedIn = await callOrThrow('/sign-in', { authUrl, user: 'ada@example.com', how: { name: 'Ada' } });
  expect(signedIn).toMatchObject({
    state: 'a state',
    redirectUrl: expect.stringContaining('http://127.0.0.1/callback?'),
  });
  expect(await exchange(shop, signedIn.authToken)).toMatchObject({ email: 'ada@example.com', name: 'Ada' });

  const before = Date.parse(String((await callOrThrow('/clock/now')).now));
  const { now } = await callOrThrow('/clock/advance', { duration: '16m' });
  expect(Date.parse(String(now)) - before).toBeGreaterThanOrEqual(16 * 60_000);
  expect(await exchange(shop, signedIn.authToken)).toBeUndefined();
});

test('answers the reason for which production refuses, with its status over REST', async () => {
  const { authUrl } = await beginLogin();
  const user = (await callOrThrow('/create-user')).id;
  await callOrThrow('/sign-in', { authUrl, user });
  expect(await call('/sign-in', { authUrl, user })).toMatchObject({
    status: 409,
    answer: { status: false, reason: 'LOGIN_INTENT_COMPLETED' },
  });
  const twice = { email: 'twice@example.com' };
  await callOrThrow('/create-user', twice);
  expect(await call('/create-user', twice)).toMatchObject({ status: 409, answer: { reason: 'USER_ALREADY_EXISTS' } });
});

test('says what a member says that fails', async () => {
  const { status, answer } = await call('/clock/set', { date: '2020-01-01T00:00:00Z' });
  expect({ status, answer }).toMatchObject({ status: 409, answer: { reason: 'MEMBER_FAILED' } });
  expect(answer.message).toContain('only goes forwards');
});

test('stops the clock, sets it and lets it go on', async () => {
  const { now } = await callOrThrow('/clock/freeze');
  expect((await callOrThrow('/clock/now')).now).toBe(now);
  const date = new Date(Date.parse(String(now)) + 3_600_000).toISOString();
  expect((await callOrThrow('/clock/set', { date })).now).toBe(date);
  await callOrThrow('/clock/run');
  await expect.poll(async () => (await callOrThrow('/clock/now')).now).not.toBe(date);
});

test('cuts Postgres off until the outage ends', async () => {
  await callOrThrow('/outage', { kind: 'database' });
  expect(await call('/outage', { kind: 'database' })).toMatchObject({ status: 400 });
  expect(await call('/create-user')).toMatchObject({ status: 503, answer: { reason: 'SERVICE_UNAVAILABLE' } });
  await callOrThrow('/outage/end', { kind: 'database' });
  await callOrThrow('/create-user');
});

test('receives what a webhook gets, and refuses what it shall refuse', async () => {
  const { shop, authUrl } = await beginLogin();
  const types = ['session.created', 'user.created'];
  const { webhookId } = await callOrThrow('/receive-webhooks', { application: shop.clientId, types });
  await callOrThrow('/webhooks/fail', { webhookId, times: 2, status: 503 });
  const { authToken } = await callOrThrow('/sign-in', { authUrl, user: 'bob@example.com' });
  const user = await exchange(shop, authToken);
  await callOrThrow('/settle');
  expect(await callOrThrow('/webhooks/all', { webhookId })).toEqual({ messages: [] });
  await callOrThrow('/clock/advance', { duration: '1h' });
  const message = await callOrThrow('/webhooks/next', { webhookId, type: 'session.created' });
  expect(message).toMatchObject({ type: 'session.created', data: { userId: user.id } });
  const other = await callOrThrow('/webhooks/next', { webhookId });
  expect(other).toMatchObject({ type: 'user.created', data: { id: user.id } });
  const { messages } = await callOrThrow('/webhooks/all', { webhookId });
  expect(messages).toHaveLength(2);
  expect(messages).toEqual(expect.arrayContaining([message, other]));
});

test('reads e-mails and the audit log, and empties both', async () => {
  const user = (await callOrThrow('/create-user', { email: 'eve@example.com' })).id;
  const { authUrl } = await beginLogin();
  await callOrThrow('/sign-in', { authUrl, user });
  expect((await callOrThrow('/audit-events')).auditEvents).toEqual(
    expect.arrayContaining([expect.objectContaining({ action: 'AdminService/CreateUser', resource: user })]),
  );
  expect(await callOrThrow('/mails', { address: 'eve@example.com' })).toEqual({ mails: expect.any(Array) });
  await callOrThrow('/reset');
  expect(await callOrThrow('/audit-events')).toEqual({ auditEvents: [] });
  expect(await callOrThrow('/mails', { address: 'eve@example.com' })).toEqual({ mails: [] });
});

test('is documented with each path and each error', async () => {
  const page = (await request(usher.url, { path: '/docs/testing' })).body;
  for (const path of Object.keys(createControlMembers(usher))) expect(page).toContain(`<code>${path}</code>`);
  for (const [reason, [status]] of Object.entries(CONTROL_ERRORS))
    expect(page).toContain(`<td>${status}</td><td><code>${reason}</code></td>`);
});

test('answers before it stops', async () => {
  await callOrThrow('/stop');
  await expect.poll(() => stops).toBe(1);
});
