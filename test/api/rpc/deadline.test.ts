import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { CALLERS, type Caller } from '../../support/callers.ts';
import { cloneDatabase, type TestDatabase } from '../../support/database.ts';
import { HttpPool } from '../../support/http-pool.ts';
import { holdLock, type Lock, waitForLockWaiters } from '../../support/lock.ts';
import { clientsOf, createTenant, startTestService, type Tenant, type TestService } from '../../support/service.ts';

const REQUEST_TIMEOUT_MS = 400;
/** How much later than its deadline a call may be answered. */
const SLACK_MS = 1_000;

const RPC_CALLERS = CALLERS.filter(({ isRest }) => !isRest);
const UNAVAILABLE = { code: 'unavailable', message: 'Service unavailable', fields: [], data: undefined };
const DEADLINE_EXCEEDED = { code: 'deadline_exceeded', message: 'Deadline exceeded', fields: [], data: undefined };

describe('a call that takes too long', () => {
  let database: TestDatabase;
  let service: TestService;
  let tenant: Tenant;
  let lock: Lock;

  beforeAll(async () => {
    database = await cloneDatabase();
    {
      await using patient = await startTestService({ database });
      tenant = await createTenant(patient);
      await clientsOf(patient, tenant).events.createEvent({ eventId: 'event' });
    }
    // So many lanes that a call need not share one.
    service = await startTestService({
      database,
      config: { requestTimeoutMs: REQUEST_TIMEOUT_MS, databaseConnections: 64 },
    });
    lock = await holdLock(database, 'select from events for update');
  });

  afterAll(async () => {
    await lock.release();
    await service.close();
    await database[Symbol.asyncDispose]();
  });

  const deleteEvent = (caller: Caller, timeout: Record<string, string> = {}) =>
    caller.call(
      service.url,
      EventService.method.deleteEvent,
      { eventId: 'event' },
      { 'x-api-key': tenant.apiKey, ...timeout },
    );

  test('is unavailable at our deadline, over every protocol', async () => {
    const answers = CALLERS.map(async (caller) => [caller.name, await timed(deleteEvent(caller))] as const);
    expect(await Promise.all(answers)).toEqual(
      CALLERS.map(({ name }) => [name, { answer: UNAVAILABLE, tookMs: msNear(REQUEST_TIMEOUT_MS) }]),
    );
  });

  test("has exceeded the caller's deadline where that is earlier, over every RPC protocol", async () => {
    const answers = RPC_CALLERS.map(
      async (caller) => [caller.name, await timed(deleteEvent(caller, timeoutHeader(caller, 150)))] as const,
    );
    expect(await Promise.all(answers)).toEqual(
      RPC_CALLERS.map(({ name }) => [name, { answer: DEADLINE_EXCEEDED, tookMs: msNear(150) }]),
    );
  });

  test("is unavailable at our deadline where the caller's is later", async () => {
    const answers = RPC_CALLERS.map(
      async (caller) => [caller.name, await timed(deleteEvent(caller, timeoutHeader(caller, 99_999_999)))] as const,
    );
    expect(await Promise.all(answers)).toEqual(
      RPC_CALLERS.map(({ name }) => [name, { answer: UNAVAILABLE, tookMs: msNear(REQUEST_TIMEOUT_MS) }]),
    );
  });

  test("has exceeded the caller's deadline and is never merely unavailable, however often", async () => {
    using pool = new HttpPool(service, { 'x-api-key': tenant.apiKey, 'connect-timeout-ms': '20' });
    const replies = new Set<string>();
    const callers = Array.from({ length: 16 }, async () => {
      for (let call = 0; call < 20; call++) {
        const { status, body } = await pool.call('POST', '/usher.v1.EventService/DeleteEvent', { eventId: 'event' });
        replies.add(`${status} ${JSON.stringify(body)}`);
      }
    });
    await Promise.all(callers);
    expect([...replies]).toEqual(['504 {"code":"deadline_exceeded","message":"Deadline exceeded"}']);
  });

  test.each([0, 1])('has exceeded a deadline of %d ms, over every RPC protocol', async (timeoutMs) => {
    const answers = RPC_CALLERS.map(
      async (caller) => [caller.name, await deleteEvent(caller, timeoutHeader(caller, timeoutMs))] as const,
    );
    expect(await Promise.all(answers)).toEqual(RPC_CALLERS.map(({ name }) => [name, DEADLINE_EXCEEDED]));
  });

  test('is invalid with a timeout that is none, over every RPC protocol', async () => {
    const answers = RPC_CALLERS.map(async (caller) => {
      const { code } = await deleteEvent(caller, { 'connect-timeout-ms': 'soon', 'grpc-timeout': 'soon' });
      return [caller.name, code];
    });
    expect(await Promise.all(answers)).toEqual(RPC_CALLERS.map(({ name }) => [name, 'invalid_argument']));
  });
});

describe('a caller in a hurry', () => {
  test('costs the next caller nothing', async () => {
    await using service = await startTestService({ config: { databaseConnections: 2 } });
    const tenant = await createTenant(service);
    await clientsOf(service, tenant).events.createEvent({ eventId: 'event' });
    using hurried = new HttpPool(service, { 'x-api-key': tenant.apiKey, 'connect-timeout-ms': '100' });
    using patient = new HttpPool(service, { 'x-api-key': tenant.apiKey });
    await using lock = await holdLock(service.database, 'select from events for update');
    const late = ['CheckIn', 'CheckIn', 'DeleteEvent'].map((method) =>
      hurried.call('POST', `/usher.v1.EventService/${method}`, { eventId: 'event', attendeeId: 'attendee' }),
    );
    await Promise.all(late);
    await lock.release();
    const next = await patient.call('GET', `/api/webhooks/wh_${'0'.repeat(32)}`);
    expect(next).toEqual({ status: 404, body: { status: false, message: 'Webhook not found' } });
  });

  test('costs callers at the same time nothing', async () => {
    await using service = await startTestService({ config: { databaseConnections: 2 } });
    const tenant = await createTenant(service);
    using hurried = new HttpPool(service, { 'x-api-key': tenant.apiKey, 'connect-timeout-ms': '0' });
    using patient = new HttpPool(service, { 'x-api-key': tenant.apiKey });
    const path = '/usher.v1.WebhookService/GetWebhook';
    const call = (pool: HttpPool) => pool.call('POST', path, { webhookId: `wh_${'0'.repeat(32)}` });
    await call(patient);
    let isOver = false;
    const crowd = Array.from({ length: 4 }, async () => {
      while (!isOver) await call(hurried);
    });
    const statuses: number[] = [];
    for (let count = 0; count < 100; count++) {
      statuses.push((await call(patient)).status);
      await sleep(2);
    }
    isOver = true;
    await Promise.all(crowd);
    expect(new Set(statuses)).toEqual(new Set([404]));
  });

  test('does not spoil the look-up of an API key for another caller', async () => {
    await using service = await startTestService({ config: { databaseConnections: 4 } });
    const tenant = await createTenant(service);
    using hurried = new HttpPool(service, { 'x-api-key': tenant.apiKey, 'connect-timeout-ms': '100' });
    using patient = new HttpPool(service, { 'x-api-key': tenant.apiKey });
    await using lock = await holdLock(service.database, 'lock table api_keys in access exclusive mode');
    const path = '/usher.v1.WebhookService/GetWebhook';
    const first = hurried.call('POST', path, { webhookId: `wh_${'0'.repeat(32)}` });
    await waitForLockWaiters(service.database);
    const second = patient.call('POST', path, { webhookId: `wh_${'0'.repeat(32)}` });
    await first;
    await lock.release();
    expect((await second).status).toBe(404);
  });
});

test('asking whether the service is ready ends nobody else’s call', async () => {
  await using service = await startTestService({ config: { databaseConnections: 1 } });
  const tenant = await createTenant(service);
  await clientsOf(service, tenant).events.createEvent({ eventId: 'event' });
  using pool = new HttpPool(service, { 'x-api-key': tenant.apiKey });
  await using lock = await holdLock(service.database, 'select from events for update');
  const deletion = pool.call('DELETE', '/api/events/event');
  await waitForLockWaiters(service.database);
  await pool.call('GET', '/readyz');
  await lock.release();
  expect(await deletion).toEqual({ status: 200, body: { status: true, message: 'Event deleted successfully' } });
});

function timeoutHeader({ name }: Caller, timeoutMs: number): Record<string, string> {
  return name.startsWith('Connect') ? { 'connect-timeout-ms': String(timeoutMs) } : { 'grpc-timeout': `${timeoutMs}m` };
}

async function timed<T>(promise: Promise<T>): Promise<{ answer: T; tookMs: number }> {
  const startedAt = performance.now();
  const answer = await promise;
  return { answer, tookMs: performance.now() - startedAt };
}

/** Matches a time that is no less than the deadline and not much more. */
function msNear(deadlineMs: number) {
  return {
    asymmetricMatch: (tookMs: number) => tookMs > deadlineMs - 2 && tookMs < deadlineMs + SLACK_MS,
    toString: () => `${deadlineMs} to ${deadlineMs + SLACK_MS} ms`,
  };
}
