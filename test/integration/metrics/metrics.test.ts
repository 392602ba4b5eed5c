/** What happens in a service is in the next scrape. */
import { gunzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { DURATIONS, SAMPLED } from '../../../src/metrics/definitions.ts';
import { WebhookReceiver } from '../../../src/testing/webhook-receiver.ts';
import { openHttpClient, request } from '../../support/http.ts';
import { LoginFixture } from '../../support/login-fixture.ts';
import { wrongCode } from '../../support/mail-server.ts';
import { promtool, SKIPS_PROMETHEUS } from '../../support/metric-documents.ts';
import { MEASURED, openMetrics, scrape } from '../../support/metrics.ts';
import { SoftwarePasskey } from '../../support/passkey.ts';
import { savePasskey, sendPasskey, TO_PASSKEYS } from '../../support/passkey-page.ts';
import { clientsOf, createTestUser, createTestWebhook, PUBLIC_URL, startTestService } from '../../support/service.ts';

const networks = { webhookDelivery: true, webhookAllowedNetworks: ['127.0.0.0/8'] };
const loginMethods = ['email', 'passkey'] as const;
const fixture = await LoginFixture.open({ config: { ...MEASURED, ...networks, loginMethods } });
const { service, tenant } = fixture;
const metrics = await openMetrics(service);
afterAll(async () => {
  await metrics[Symbol.asyncDispose]();
  await fixture.close();
});

test('counts calls over every protocol, routes, look-ups and statements', async () => {
  const { webhooks } = clientsOf(service, tenant);
  const { id: ownerId } = await createTestUser(service);
  const { webhookId } = await createTestWebhook(service, tenant, { ownerId });
  await webhooks.getWebhook({ webhookId });
  for (const id of [webhookId, 'wh_unknown'])
    await request(service.url, { path: `/api/webhooks/${id}`, headers: { 'x-api-key': tenant.apiKey } });

  const found = await scrape(metrics);
  const rpc_method = 'usher.v1.WebhookService/GetWebhook';
  const calls = (labels: Record<string, string>) =>
    found.sum('rpc_server_call_duration_seconds_count', { rpc_method, ...labels });
  const overConnect = { usher_protocol: 'connect', rpc_system_name: 'connectrpc' };
  expect(calls({ ...overConnect, rpc_response_status_code: 'OK' })).toBe(1);
  expect(calls({ usher_protocol: 'rest', rpc_response_status_code: 'OK' })).toBe(1);
  expect(calls({ usher_protocol: 'rest', rpc_response_status_code: 'INVALID_ARGUMENT' })).toBe(1);
  const route = { http_request_method: 'GET', http_route: '/api/webhooks/:webhookId' };
  const requests = (status: string) =>
    found.sum('http_server_request_duration_seconds_count', { ...route, http_response_status_code: status });
  expect([requests('200'), requests('400')]).toEqual([1, 1]);
  expect(found.sum('usher_cache_lookups_total', { cache: 'api_keys', result: 'miss' })).toBeGreaterThanOrEqual(1);
  expect(found.sum('usher_cache_lookups_total', { cache: 'api_keys', result: 'hit' })).toBeGreaterThanOrEqual(2);
  expect(found.sum('db_client_operation_duration_seconds_count', { db_query_summary: 'selectWebhook' })).toBe(2);
});

test('has the heap, its limit, and the garbage collections', async () => {
  const before = await scrape(metrics);
  // Fills the young generation several times.
  for (let round = 0; round < 200; round++) Array.from({ length: 100_000 }, (_, at) => ({ at }));
  // Node reports collections in a later iteration of the event loop.
  await expect
    .poll(async () => (await scrape(metrics)).sum('nodejs_gc_duration_seconds_count', { kind: 'minor' }))
    .toBeGreaterThan(before.sum('nodejs_gc_duration_seconds_count', { kind: 'minor' }));
  const found = await scrape(metrics);
  const used = found.sum('nodejs_heap_size_used_bytes', {});
  expect(used).toBeGreaterThan(0);
  expect(found.sum('nodejs_heap_size_limit_bytes', {})).toBeGreaterThan(used);
  expect(found.sum('nodejs_heap_fullness_ratio', {})).toBeGreaterThan(0);
  expect(found.sum('nodejs_heap_fullness_ratio', {})).toBeLessThan(1);
  expect(found.sum('nodejs_external_memory_bytes', {})).toBeGreaterThan(0);
});

test('has histograms whose buckets add up', async () => {
  const found = await scrape(metrics);
  for (const { name } of DURATIONS) {
    const count = found.sum(`${name}_count`);
    expect(count, name).toBeGreaterThan(0);
    expect(found.sum(`${name}_bucket`, { le: '+Inf' }), name).toBe(count);
    expect(found.sum(`${name}_bucket`, { le: '0.0005' }), name).toBeLessThanOrEqual(count);
    expect(found.sum(`${name}_sum`), name).toBeGreaterThan(0);
  }
});

test('counts the steps of a login by their outcome, and e-mails', async () => {
  const { code, enter } = await fixture.askForCode();
  await enter(wrongCode(code));
  await enter(code);
  const found = await scrape(metrics);
  const steps = (outcome: string) => found.sum('usher_login_steps_total', { step: 'POST /login/code', outcome });
  expect([steps('ok'), steps('WRONG_CODE')]).toEqual([1, 1]);
  expect(found.sum('usher_emails_total', { outcome: 'sent' })).toBe(1);
  expect(found.sum('usher_emails_total', { outcome: 'failed' })).toBe(0);
});

test('names no step of a login by a method that the caller makes up', async () => {
  await request(service.url, { httpVersion: '2', method: 'MADE-UP', path: '/login/unknown?intent=unknown' });
  const found = await scrape(metrics);
  expect(found.text.includes('MADE-UP')).toBe(false);
  expect(found.sum('usher_login_steps_total', { step: 'GET /login/*' })).toBe(1);
});

test('counts sign-ins with a passkey whose counter does not rise', async () => {
  const passkey = new SoftwarePasskey();
  const { browser, codePage, code } = await fixture.askForCode();
  const page = await browser.submit(codePage, '/login/code', { code, ...TO_PASSKEYS });
  await savePasskey({ browser, page }, passkey, PUBLIC_URL);
  for (const signCount of [5, 5]) await sendPasskey(await fixture.arrive(), passkey, PUBLIC_URL, { signCount });
  const found = await scrape(metrics);
  const steps = (outcome: string) => found.sum('usher_login_steps_total', { step: 'POST /login/passkey', outcome });
  expect([steps('ok'), steps('PASSKEY_COUNTER_STEPPED_BACK')]).toEqual([1, 1]);
});

test('counts attempts of webhooks, and tells how many wait and for how long', async () => {
  await using receiver = await WebhookReceiver.open();
  const { webhooks } = clientsOf(service, tenant);
  const { id: ownerId } = await createTestUser(service);
  const { webhookId } = await createTestWebhook(service, tenant, { ownerId, url: `${receiver.url}/ok` });
  await webhooks.sendTestMessage({ webhookId });
  await expect.poll(() => receiver.messages.length).toBe(1);
  await expect
    .poll(async () => (await scrape(metrics)).sum('usher_webhook_attempts_total', { outcome: 'succeeded' }))
    .toBe(1);
});

test('counts connections of clients, and those to Postgres that were replaced', async () => {
  await service.database.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'usher pool'`;
  using client = openHttpClient(service.url, { httpVersion: '1.1' });
  const get = () => client.send({ path: '/api/webhooks', headers: { 'x-api-key': tenant.apiKey } });
  await expect.poll(async () => (await get()).status).toBe(200);
  // A busy Postgres ends some of its processes only after it has answered.
  const countReconnects = async () =>
    (await scrape(metrics)).sum('usher_database_reconnects_total', { client: 'calls' });
  await expect.poll(countReconnects).toBeGreaterThanOrEqual(1);
  const found = await scrape(metrics);
  expect(found.sum('usher_http_connections', { protocol: 'http1' })).toBeGreaterThanOrEqual(1);
  expect(found.sum('usher_ready')).toBe(1);
});

test('has every metric of one process, in the format of Prometheus', async () => {
  const { text } = await scrape(metrics);
  const types = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => ({ name, type }));
  expect(types).toEqual([...DURATIONS, ...SAMPLED].map(({ name, type }) => ({ name, type })));
  if (!SKIPS_PROMETHEUS) expect(await promtool(['check', 'metrics'], text)).toBe('');
});

test('is all that its port serves, to GET and HEAD', async () => {
  const answers = ['GET /metrics', 'HEAD /metrics', 'POST /metrics', 'GET /', 'GET /api/webhooks'].map(async (sent) => {
    const [method = '', path = ''] = sent.split(' ');
    const response = await fetch(new URL(path, metrics.url), { method });
    return { status: response.status, hasSeries: (await response.text()).includes('usher_ready') };
  });
  expect(await Promise.all(answers)).toEqual([
    { status: 200, hasSeries: true },
    { status: 200, hasSeries: false },
    ...[405, 404, 404].map((status) => ({ status, hasSeries: false })),
  ]);
});

test('is compressed for clients that accept gzip, and for no other', async () => {
  const read = async (coding?: string) => {
    const reply = await request(new URL(metrics.url).origin, {
      path: '/metrics',
      headers: coding === undefined ? {} : { 'accept-encoding': coding },
    });
    return { coding: reply.headers['content-encoding'], bytes: reply.bytes };
  };
  for (const coding of [undefined, 'identity', 'br', 'gzip;q=0']) {
    const { coding: used, bytes } = await read(coding);
    expect([coding, used, bytes.includes('usher_ready 1')]).toEqual([coding, undefined, true]);
  }
  const plain = await read();
  for (const coding of ['gzip', 'br, GZIP;q=0.5']) {
    const { coding: used, bytes } = await read(coding);
    expect(used).toBe('gzip');
    expect(gunzipSync(bytes).toString()).toContain('usher_ready 1');
    expect(bytes.length).toBeLessThan(plain.bytes.length / 8);
  }
});

test('its port keeps no idle connection that it could close under a scrape', async () => {
  const { headers } = await fetch(metrics.url);
  expect(headers.get('connection')).toBe('close');
});

test('is off without METRICS_PORT', async () => {
  await using unmeasured = await startTestService();
  expect(unmeasured.collect).toBeUndefined();
});
