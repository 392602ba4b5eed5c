/** Traces with the SDK that the documentation shows, received as a collector receives them. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, expect, test } from 'vitest';
import { WebhookReceiver } from '../../src/testing/webhook-receiver.ts';
import { cloneDatabase } from '../support/database.ts';
import { REPOSITORY, startUsher } from '../support/process.ts';
import { clientsOf, createTenant, createTestUser, createTestWebhook } from '../support/service.ts';
import { type Span, SpanCollector, TRACING } from '../support/span-collector.ts';

const TRUSTED_PROXY = '127.0.0.2';
const STRANGER = '127.0.0.3';
const SERVER = 2;
const CLIENT = 3;
const ERROR = 2;

const collector = await SpanCollector.open();
const { spans } = collector;
const database = await cloneDatabase();
const env = {
  ...collector.env,
  TRUSTED_PROXIES: TRUSTED_PROXY,
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
};
const usher = await startUsher(database.url, env, { keepsLog: true });
const tenant = await createTenant(usher);
const { webhookId } = await createTestWebhook(usher, tenant);

afterAll(async () => {
  await usher[Symbol.asyncDispose]();
  await collector[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

test('a call has a span, its statements have spans below it, and its log line has the trace ID', async () => {
  const { call, statements } = await trace({ path: `/api/webhooks/${webhookId}` });
  expect(call).toMatchObject({ name: 'usher.v1.WebhookService/GetWebhook', kind: SERVER });
  expect(call.parentSpanId).toBeFalsy();
  expect(attributesOf(call)).toMatchObject({
    'usher.protocol': 'rest',
    'usher.application_id': tenant.id,
    'http.response.status_code': 200,
    'rpc.response.status_code': 'OK',
  });
  expect(statements).toEqual([expect.objectContaining({ kind: CLIENT, name: expect.stringMatching(/^\w+$/) })]);
  const lines = () => usher.stdout.split('\n').filter((line) => line.includes(call.traceId));
  await expect.poll(lines).toEqual([expect.stringContaining('"msg":"call"')]);
});

test('a refused call has its reason, and is no error of Usher', async () => {
  const { call } = await trace({ path: '/api/webhooks/unknown' });
  expect(attributesOf(call)).toMatchObject({ 'rpc.response.status_code': 'INVALID_ARGUMENT' });
  expect(attributesOf(call)['error.type']).toMatch(/^[A-Z_]+$/);
  expect(call.status.code).not.toBe(ERROR);
});

test.each([
  ['continues the trace of a trusted proxy', TRUSTED_PROXY],
  ['links to the trace of any other caller', STRANGER],
])('%s', async (_, from) => {
  const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
  const traceparent = `00-${traceId}-${spanId}-01`;
  const { call } = await trace({ path: `/api/webhooks/${webhookId}`, from, headers: { traceparent } });
  const isTrusted = from === TRUSTED_PROXY;
  expect(call.traceId === traceId).toBe(isTrusted);
  expect(call.parentSpanId ?? '').toBe(isTrusted ? spanId : '');
  expect(call.links ?? []).toMatchObject(isTrusted ? [] : [{ traceId, spanId }]);
});

test('no span has a key', async () => {
  await trace({ path: `/api/webhooks/${webhookId}` });
  expect(JSON.stringify(spans)).not.toContain(tenant.apiKey);
  expect(JSON.stringify(spans)).not.toContain('whsec_');
});

test('the documentation shows the file as it is', async () => {
  const page = await readFile(join(REPOSITORY, 'src/OPERATIONS.md'), 'utf8');
  expect(page.includes(`\`\`\`js\n${await readFile(TRACING, 'utf8')}\`\`\``)).toBe(true);
});

/** Makes a call from an address of the loopback network, and returns its span with those below it. */
async function trace({ path, from = STRANGER, headers = {} }: { path: string; from?: string; headers?: object }) {
  const requestId = crypto.randomUUID();
  const all = { ...headers, 'x-api-key': tenant.apiKey, 'x-request-id': requestId };
  const call = request(`${usher.url}${path}`, { localAddress: from, headers: all }).end();
  const [response] = await once(call, 'response');
  await text(response);
  const find = () => spans.find((span) => attributesOf(span)['usher.request_id'] === requestId);
  await expect.poll(find).toBeDefined();
  const span = find();
  if (!span) throw new Error('No span');
  return { call: span, statements: spans.filter(({ parentSpanId }) => parentSpanId === span.spanId) };
}

function attributesOf({ attributes }: Span): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
}

test('a webhook request leads its receiver to the span of the attempt', async () => {
  await using receiver = await WebhookReceiver.open();
  const { webhooks, events } = clientsOf(usher, tenant);
  const { id: ownerId } = await createTestUser(usher, { applicationIds: [tenant.id] });
  await webhooks.createWebhook({ url: `${receiver.url}/traced`, ownerId, eventTypes: ['event.created'] });
  await events.createEvent({ eventId: 'traced' });
  await expect.poll(() => receiver.at('/traced').length).toBe(1);
  const [message] = receiver.at('/traced');
  const [, traceId, spanId] = /^00-(\w{32})-(\w{16})-01$/.exec(String(message?.headers.traceparent)) ?? [];
  const attempt = () => spans.find((span) => span.spanId === spanId);
  await expect.poll(attempt).toMatchObject({ traceId, name: 'webhook attempt', kind: CLIENT });
  expect(attributesOf(attempt() as Span)).toMatchObject({ 'usher.message_id': message?.id });
});
