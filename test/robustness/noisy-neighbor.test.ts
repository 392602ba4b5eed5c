/**
 * One application sends as many check-ins as it can, which wait for each other: the calls of another go through. Only the
 * long form has the machine to itself, as times need. What counts turns: test/integration/database/lock-isolation.test.ts.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { HttpPool } from '../support/http.ts';
import { type Answer, quantileOf, startLoad, startOpenLoopLoad } from '../support/load.ts';
import { holdLock } from '../support/lock.ts';
import { startUsher } from '../support/process.ts';
import { createTenant, createTestEvent, createTestWebhook } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

/** Calls of the other application. */
const CALLS = 40;
const RATE = 5;
/** How soon the busy application tries again. Without a pause the test would have no time to measure. */
const RETRY_MS = 250;
/** How long the busy application calls before. */
const HEAD_START_MS = 3_000;
const MIN_SERVED = 39;
const P99_MS = 1_000;
const NOISE_MS = 100;
/** While an event of the busy application is locked. */
const LOCKED_MS = 4_000;
const MAX_MS = 200;

const LOADS = [
  { connections: 150, attendees: 1, commitMs: 0 },
  { connections: 150, attendees: 1, commitMs: 8 },
  { connections: 500, attendees: 1, commitMs: 30 },
  { connections: 150, attendees: 1_000_000, commitMs: 8 },
  { connections: 500, attendees: 1_000_000, commitMs: 30 },
];

// A test that makes 500 calls at a time takes the machine from the service.
test.runIf(quickOrLong(false, true)).for(LOADS)(
  '$connections connections that check in $attendees attendees with commits of $commitMs ms',
  async ({ connections, attendees, commitMs }, context) => {
    await using database = await cloneDatabase();
    await delayCommits(database, commitMs);
    await using service = await startUsher(database.url, { REQUEST_TIMEOUT_MS: '5000' });
    const [busy, other] = [await createTenant(service), await createTenant(service)];
    using busyPool = new HttpPool(service, { 'x-api-key': busy.apiKey }, { connections });
    using otherPool = new HttpPool(service, { 'x-api-key': other.apiKey }, { connections: CALLS });
    const eventId = await createTestEvent(service, busy, 'event');
    await createTestEvent(service, other, 'event');
    const { webhookId } = await createTestWebhook(service, other);

    let calls = 0;
    const checkIn = async () => {
      const attendeeId = `attendee ${calls++ % attendees}`;
      const { status } = await busyPool.call('POST', `/api/events/${eventId}/check-ins`, { attendeeId });
      if (status === 503) await sleep(RETRY_MS);
      return String(status);
    };
    const load = startLoad({ checkIn }, { callers: connections });
    await sleep(HEAD_START_MS);
    let turn = 0;
    const callOther = async () => {
      const attendeeId = `attendee ${turn++}`;
      const { status } =
        turn % 2 === 0
          ? await otherPool.call('POST', `/api/events/${eventId}/check-ins`, { attendeeId })
          : await otherPool.call('GET', `/api/webhooks/${webhookId}`);
      return String(status);
    };
    const otherLoad = startOpenLoopLoad(callOther, RATE);
    await sleep((CALLS * 1_000) / RATE);
    const others = summarize((await otherLoad.stop()).slice(0, CALLS));
    const all = summarize(await load.stop());

    report(context, {
      tried: `${connections} connections check in ${attendees} attendees, commits of ${commitMs} ms`,
      lost: `${others.tried - others.served} of ${others.tried} calls of another application`,
      figures: `p50 ${others.p50Ms} ms, p99 ${others.p99Ms} ms; busy: ${all.served} of ${all.tried} served, p50 ${all.p50Ms} ms`,
    });
    expect(others.served).toBeGreaterThanOrEqual(MIN_SERVED);
    expect(others.p50Ms).toBeLessThan(all.p50Ms + NOISE_MS);
    expect(others.p99Ms).toBeLessThan(P99_MS);
  },
);

// Which calls wait for what: test/integration/database/transactions.test.ts.
test.runIf(quickOrLong(false, true))('64 batches of an event that is locked for 4 s', async (context) => {
  await using database = await cloneDatabase();
  await using service = await startUsher(database.url, { REQUEST_TIMEOUT_MS: '10000' });
  const [busy, other] = [await createTenant(service), await createTenant(service)];
  using busyPool = new HttpPool(service, { 'x-api-key': busy.apiKey }, { connections: 64 });
  using otherPool = new HttpPool(service, { 'x-api-key': other.apiKey }, { connections: 1 });
  for (const tenant of [busy, other]) await createTestEvent(service, tenant, 'event');
  const send = (pool: HttpPool) => {
    const scan = { scanId: randomUUID(), attendeeId: randomUUID() };
    return pool.call('POST', '/api/events/event/check-ins/batch', { scans: [scan] });
  };
  const measure = async () => {
    const load = startLoad({ send: async () => String((await send(otherPool)).status) }, { callers: 1 });
    await sleep(LOCKED_MS);
    return summarize(await load.stop());
  };
  await measure();
  const alone = await measure();
  const locked = `select from events where application_id = '${busy.id}' for update`;
  const lock = await holdLock(database, locked);
  const batches = Array.from({ length: 64 }, () => send(busyPool));
  const beside = await measure();
  await lock.release();
  const statuses = new Set((await Promise.all(batches)).map(({ status }) => status));

  report(context, {
    tried: '64 batches of an event that is locked for 4 s',
    lost: `${beside.tried - beside.served} of ${beside.tried} batches of another application`,
    figures: `p50 ${beside.p50Ms} ms, max ${beside.maxMs} ms; alone: p50 ${alone.p50Ms} ms, max ${alone.maxMs} ms`,
  });
  expect([...statuses]).toEqual([200]);
  expect(beside.served).toBe(beside.tried);
  expect(beside.p50Ms).toBeLessThanOrEqual(3 * Math.max(1, alone.p50Ms));
  expect(beside.maxMs).toBeLessThan(MAX_MS);
});

function summarize(answers: readonly Answer[]) {
  const served = answers.filter(({ outcome }) => outcome === '200' || outcome === '201');
  const roundedAt = (part: number) => Math.round(quantileOf(served, part));
  const [tried, times] = [answers.length, { p50Ms: roundedAt(0.5), p99Ms: roundedAt(0.99), maxMs: roundedAt(1) }];
  return { tried, served: served.length, ...times };
}

/** Makes each commit of a check-in take so long, as on a slow disk, while its row is locked. */
async function delayCommits({ sql }: TestDatabase, ms: number): Promise<void> {
  await sql.unsafe(`
    create function delay_commit() returns trigger language plpgsql as $$
      begin
        perform pg_sleep(${ms / 1_000});
        return null;
      end $$;
    create constraint trigger delayed after insert or update on check_ins
      deferrable initially deferred for each row execute function delay_commit()`);
}
