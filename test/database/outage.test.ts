import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { HttpPool, request } from '../support/http.ts';
import { call, PROTOCOLS, type Protocol } from '../support/protocols.ts';
import {
  adminClient,
  clientsOf,
  createTenant,
  createTestUser,
  logIn,
  startTestService,
  type Tenant,
  type TestService,
} from '../support/service.ts';
import { type ProxyMode, TcpProxy } from '../support/tcp-proxy.ts';

const REQUEST_TIMEOUT_MS = 300;
/** How much later than its deadline a call may be answered. */
const SLACK_MS = 1_000;
/** How soon all calls succeed once Postgres is back. */
const RECOVERY_MS = 3_000;

let database: TestDatabase;
let proxy: TcpProxy;
let service: TestService;
let tenant: Tenant;
let webhookId: string;
let authToken: string;
let unusedApiKey: string;
let pool: HttpPool;

beforeAll(async () => {
  database = await cloneDatabase();
  proxy = await TcpProxy.open(database.url);
  await using first = await startTestService({ database });
  tenant = await createTenant(first);
  const user = await createTestUser(first);
  ({ apiKey: unusedApiKey } = await adminClient(first).createApiKey({ applicationId: tenant.id }));
  authToken = await logIn(first, tenant, user);
  const { webhook } = await clientsOf(first, tenant).webhooks.createWebhook({
    url: 'https://example.com',
    ownerId: user.id,
  });
  webhookId = webhook?.webhookId ?? '';
  service = await startTestService({
    database,
    like: first.config,
    config: { databaseUrl: proxy.through(database.url), requestTimeoutMs: REQUEST_TIMEOUT_MS, databaseConnections: 3 },
  });
  pool = new HttpPool(service, { 'x-api-key': tenant.apiKey }, { connections: 100 });
  // Afterwards the service knows the API key.
  while ((await getWebhook()).status !== 200) await sleep(10);
});

afterAll(async () => {
  pool[Symbol.dispose]();
  await service.close();
  await proxy[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

describe.each<[string, ProxyMode]>([
  ['is frozen', 'freeze'],
  ['resets every connection', 'reset'],
  ['is gone', 'refuse'],
])('while Postgres %s', (_, mode) => {
  beforeAll(async () => {
    await proxy.setMode(mode);
  });

  afterAll(async () => {
    await proxy.setMode('pass');
    await expectFullService();
  });

  test('every protocol answers "unavailable" by the deadline', async () => {
    const answers = PROTOCOLS.map(async (protocol) => {
      const startedAt = performance.now();
      const answer = await getWebhookBy(protocol);
      return { name: protocol.name, answer, isInTime: performance.now() - startedAt < REQUEST_TIMEOUT_MS + SLACK_MS };
    });
    const answer = { code: 'unavailable', message: 'Service unavailable', fields: [], data: undefined };
    expect(await Promise.all(answers)).toEqual(PROTOCOLS.map(({ name }) => ({ name, answer, isInTime: true })));
  });

  test('every REST route returns 503 in the envelope, with Retry-After', async () => {
    const login = { redirectUri: 'https://app.test/callback', state: 'state' };
    const routes: [string, string, unknown?][] = [
      ['GET', `/api/webhooks/${webhookId}`],
      ['DELETE', '/api/events/event'],
      ['POST', '/api/oauth/exchange', { authToken }],
      ['POST', `/api/oauth/generate-auth-url?clientId=${tenant.clientId}`, login],
    ];
    for (const reply of await Promise.all(
      routes.map(([method, path, body]) =>
        request(service.url, {
          method,
          path,
          headers: { 'x-api-key': tenant.apiKey, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      ),
    )) {
      expect(reply.status).toBe(503);
      expect(reply.headers['retry-after']).toBe('1');
      expect(JSON.parse(reply.body)).toEqual({ status: false, message: 'Service unavailable' });
    }
  });

  test('returns 503 for an API key that it has not seen before', async () => {
    using unknown = new HttpPool(service, { 'x-api-key': unusedApiKey });
    expect((await unknown.call('GET', `/api/webhooks/${webhookId}`)).status).toBe(503);
  });

  test('answers calls that need no database', async () => {
    expect((await pool.call('GET', '/healthz')).status).toBe(200);
    expect((await pool.call('GET', '/.well-known/jwks.json')).status).toBe(200);
    using mistyped = new HttpPool(service, { 'x-api-key': 'usk_mistyped' });
    expect(await mistyped.call('GET', `/api/webhooks/${webhookId}`)).toEqual({
      status: 401,
      body: { status: false, message: 'Invalid API key' },
    });
  });

  test('is not ready', async () => {
    expect(await pool.call('GET', '/readyz')).toEqual({ status: 503, body: { status: 'not ready' } });
  });

  test('answers 100 callers at once by the deadline', async () => {
    const startedAt = performance.now();
    const replies = await Promise.all(Array.from({ length: 100 }, getWebhook));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([503]));
    // The client opens a hundred connections first.
    expect(performance.now() - startedAt).toBeLessThan(REQUEST_TIMEOUT_MS + 4 * SLACK_MS);
  });
});

test('every call is answered while Postgres comes and goes, and all succeed afterwards', async () => {
  const modes: ProxyMode[] = ['reset', 'pass', 'freeze', 'pass', 'refuse', 'pass', 'freeze', 'reset', 'pass', 'refuse'];
  let isOver = false;
  const seen = new Set<number>();
  let slowestMs = 0;
  const callers = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      const startedAt = performance.now();
      const { status } = await getWebhook();
      slowestMs = Math.max(slowestMs, performance.now() - startedAt);
      seen.add(status);
      await sleep(2);
    }
  });
  for (const mode of [...modes, ...modes]) {
    await proxy.setMode(mode);
    await sleep(100);
  }
  await proxy.setMode('pass');
  isOver = true;
  await Promise.all(callers);
  expect([...seen].filter((status) => status !== 200 && status !== 503)).toEqual([]);
  expect(seen).toContain(503);
  expect(slowestMs).toBeLessThan(REQUEST_TIMEOUT_MS + SLACK_MS);
  await expectFullService();
});

function getWebhook() {
  return pool.call('GET', `/api/webhooks/${webhookId}`);
}

function getWebhookBy(protocol: Protocol) {
  const { getWebhook } = WebhookService.method;
  return call(protocol, service.url, getWebhook, { webhookId }, { 'x-api-key': tenant.apiKey });
}

/** Waits until the service has reconnected, and then expects every call to succeed. */
async function expectFullService(): Promise<void> {
  const recoverBy = performance.now() + RECOVERY_MS;
  let successes = 0;
  while (successes < 20 && performance.now() < recoverBy) {
    successes = (await getWebhook()).status === 200 ? successes + 1 : 0;
    await sleep(10);
  }
  expect(successes).toBe(20);
  for (const protocol of PROTOCOLS) {
    expect((await getWebhookBy(protocol)).code, protocol.name).toBe('ok');
  }
  // A connection that failed late may still be backing off.
  let statuses: Set<number>;
  do {
    const replies = await Promise.all(Array.from({ length: 50 }, getWebhook));
    statuses = new Set(replies.map(({ status }) => status));
  } while (statuses.size > 1 && performance.now() < recoverBy);
  expect(statuses).toEqual(new Set([200]));
}
