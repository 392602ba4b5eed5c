import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import { type ProxyMode, TcpProxy } from '../../../src/testing/tcp-proxy.ts';
import { cloneDatabase } from '../../support/database.ts';
import { HttpPool } from '../../support/http.ts';
import { call, PROTOCOLS, type Protocol } from '../../support/protocols.ts';
import { RecordedLog } from '../../support/recorded-log.ts';
import { adminClient, createTenant, createTestWebhook, startTestService } from '../../support/service.ts';

const REQUEST_TIMEOUT_MS = 300;

const database = await cloneDatabase();
const proxy = await TcpProxy.open(database.url);
const first = await startTestService({ database });
const tenant = await createTenant(first);
const { apiKey: unusedApiKey } = await adminClient(first).createApiKey({ applicationId: tenant.id });
const { webhookId } = await createTestWebhook(first, tenant);
await first.close();
const log = new RecordedLog();
const service = await log.start({
  database,
  like: first.config,
  config: { databaseUrl: proxy.through(database.url), requestTimeoutMs: REQUEST_TIMEOUT_MS, databaseConnections: 3 },
});
const pool = new HttpPool(service, { 'x-api-key': tenant.apiKey }, { connections: 50 });
// Afterwards the service knows the API key.
while ((await getWebhook()).status !== 200) await sleep(10);

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
  beforeAll(() => proxy.setMode(mode));

  test('returns 503 in the envelope, with Retry-After', async () => {
    const { status, headers, body } = await pool.exchange('GET', `/api/webhooks/${webhookId}`);
    expect({ status, body }).toEqual({
      status: 503,
      body: { status: false, message: 'Service unavailable', reason: 'SERVICE_UNAVAILABLE' },
    });
    expect(headers['retry-after']).toBe('1');
  });

  test('warns of calls that are not served, and not of each', async () => {
    const statuses = Array.from({ length: 20 }, async () => (await getWebhook()).status);
    expect(await Promise.all(statuses)).toEqual(statuses.map(() => 503));
    const ofThis = log.parsed.filter(({ level, msg }) => level === 40 && msg.endsWith('not served'));
    expect(ofThis.length).toBeGreaterThan(0);
    expect(ofThis.length).toBeLessThan(log.callLines.filter(({ code }) => code === 'unavailable').length);
  });

  test('returns 503 for an API key that it has not seen before', async () => {
    using unknown = new HttpPool(service, { 'x-api-key': unusedApiKey });
    expect((await unknown.call('GET', `/api/webhooks/${webhookId}`)).status).toBe(503);
  });

  test('answers calls that need no database, and is not ready', async () => {
    expect((await pool.call('GET', '/healthz')).status).toBe(200);
    expect((await pool.call('GET', '/.well-known/jwks.json')).status).toBe(200);
    using mistyped = new HttpPool(service, { 'x-api-key': 'usk_mistyped' });
    expect((await mistyped.call('GET', `/api/webhooks/${webhookId}`)).status).toBe(401);
    expect(await pool.call('GET', '/readyz')).toEqual({ status: 503, body: { status: 'not ready' } });
  });

  test('serves in full again once Postgres is back', async () => {
    await proxy.setMode('pass');
    // No more than admission lets in after slow calls.
    const statuses = async () => {
      const replies = await Promise.all(Array.from({ length: 30 }, getWebhook));
      return [...new Set(replies.map(({ status }) => status))];
    };
    await expect.poll(statuses).toEqual([200]);
    for (const protocol of PROTOCOLS) {
      await expect.poll(() => getWebhookBy(protocol), { message: protocol.name }).toMatchObject({ code: 'ok' });
    }
  });
});

function getWebhook() {
  return pool.call('GET', `/api/webhooks/${webhookId}`);
}

function getWebhookBy(protocol: Protocol) {
  const { getWebhook } = WebhookService.method;
  return call(protocol, service.url, getWebhook, { webhookId }, { 'x-api-key': tenant.apiKey });
}
