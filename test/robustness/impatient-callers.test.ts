/** A caller with a short deadline spoils nothing for the others. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HttpPool } from '../support/http.ts';
import { holdLock, waitForLockWaiters } from '../support/lock.ts';
import { createTenant, createTestEvent, startTestService, type TestService } from '../support/service.ts';

const WEBHOOK_ID = `wh_${'0'.repeat(32)}`;
const GET_WEBHOOK = '/usher.v1.WebhookService/GetWebhook';
const LOCK_EVENTS = 'select from events for update';

let service: TestService;
let apiKey: string;
let eventId: string;

beforeEach(async () => {
  service = await startTestService({ config: { databaseConnections: 2 } });
  const tenant = await createTenant(service);
  ({ apiKey } = tenant);
  eventId = await createTestEvent(service, tenant);
});

afterEach(() => service.close());

const openPool = (timeoutMs?: number, at: TestService = service) =>
  new HttpPool(at, {
    'x-api-key': apiKey,
    ...(timeoutMs !== undefined && { 'connect-timeout-ms': String(timeoutMs) }),
  });
const callEvents = (pool: HttpPool, method: string) =>
  pool.call('POST', `/usher.v1.EventService/${method}`, { eventId, attendeeId: 'attendee' });
const getWebhook = (pool: HttpPool) => pool.call('POST', GET_WEBHOOK, { webhookId: WEBHOOK_ID });

test('each of 320 calls that wait for a lock exceeds its own deadline', async () => {
  using pool = openPool(20);
  await using _lock = await holdLock(service.database, LOCK_EVENTS);
  const replies = new Set<string>();
  const callers = Array.from({ length: 16 }, async () => {
    for (let call = 0; call < 20; call++) {
      const { status, body } = await callEvents(pool, 'DeleteEvent');
      replies.add(`${status} ${JSON.stringify(body)}`);
    }
  });
  await Promise.all(callers);
  expect([...replies]).toEqual(['504 {"code":"deadline_exceeded","message":"Deadline exceeded"}']);
});

test('the next caller is answered', async () => {
  using hurried = openPool(100);
  using patient = openPool();
  await using lock = await holdLock(service.database, LOCK_EVENTS);
  await Promise.all(['CheckIn', 'CheckIn', 'DeleteEvent'].map((method) => callEvents(hurried, method)));
  await lock.release();
  const next = await patient.call('GET', `/api/webhooks/${WEBHOOK_ID}`);
  expect(next).toEqual({ status: 404, body: { status: false, message: 'Webhook not found' } });
});

test('callers at the same time are answered', async () => {
  using hurried = openPool(0);
  using patient = openPool();
  await getWebhook(patient);
  let isOver = false;
  const crowd = Array.from({ length: 4 }, async () => {
    while (!isOver) await getWebhook(hurried);
  });
  const statuses = new Set<number>();
  for (let count = 0; count < 100; count++) {
    statuses.add((await getWebhook(patient)).status);
    await sleep(2);
  }
  isOver = true;
  await Promise.all(crowd);
  expect([...statuses]).toEqual([404]);
});

test('another caller whose API key is being looked up is answered', async () => {
  // A replica that does not know the key yet.
  await using replica = await startTestService({ database: service.database, like: service.config });
  using hurried = openPool(100, replica);
  using patient = openPool(undefined, replica);
  await using lock = await holdLock(service.database, 'lock table api_keys in access exclusive mode');
  const first = getWebhook(hurried);
  await waitForLockWaiters(service.database);
  const second = getWebhook(patient);
  await first;
  await lock.release();
  expect((await second).status).toBe(404);
});
