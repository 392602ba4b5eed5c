/** What check-in at doors costs, in CPU time of the server and of Postgres together: compared within one run. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { findBackends, readUsage } from '../bench/read-usage.ts';
import { medianOf } from '../bench/statistics.ts';
import { cloneDatabase } from '../support/database.ts';
import { startUsher } from '../support/process.ts';
import { clientsOf, createTenant } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const BATCH = 200;
/** A batch of 200 scans may cost as much as so many check-ins without new fields. It was 20 at the last measurement. */
const MAX_RATIO = 25;
const ROUNDS = quickOrLong(1, 9);
const ATTENDEES = quickOrLong(1_000, 100_000);
const MOST_PUT = 500;

async function open(stack: AsyncDisposableStack) {
  const database = stack.use(await cloneDatabase());
  const usher = stack.use(await startUsher(database.url, { WEBHOOK_DELIVERY: 'false' }));
  const tenant = await createTenant(usher);
  const { events } = clientsOf(usher, tenant);
  /** Returns the CPU time of the work in milliseconds. Connections are open before it. */
  const measure = async (work: () => Promise<unknown>) => {
    const readBackends = await findBackends(database.sql);
    const read = () => readUsage(usher.pid).cpuMicros + readBackends();
    const before = read();
    await work();
    return (read() - before) / 1_000;
  };
  return { database, events, measure };
}

test('a batch of 200 scans costs a fraction of 200 check-ins', { timeout: 900_000 }, async (context) => {
  await using stack = new AsyncDisposableStack();
  const { events, measure } = await open(stack);
  const [plain, byRules] = [randomUUID(), randomUUID()];
  await events.createEvent({ eventId: plain });
  await events.createEvent({ eventId: byRules, capacity: 1_000_000 });
  const checkIn = () => events.checkIn({ eventId: plain, attendeeId: randomUUID() });
  const upload = () => {
    const scan = () => ({ scanId: randomUUID(), attendeeId: randomUUID(), gate: 'North', occurredAt: now() });
    return events.batchCheckIn({ eventId: byRules, scans: Array.from({ length: BATCH }, scan) });
  };
  const repeat = async (times: number, work: () => Promise<unknown>) => {
    for (let time = 0; time < times; time++) await work();
  };
  // The code of both is compiled, and each has its connections.
  await repeat(quickOrLong(20, 3_000), checkIn);
  await repeat(quickOrLong(2, 100), upload);
  const costs: { checkIn: number; batch: number }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    costs.push({
      checkIn: (await measure(() => repeat(BATCH, checkIn))) / BATCH,
      batch: (await measure(() => repeat(10, upload))) / 10,
    });
  }
  const ratio = medianOf(costs.map((cost) => cost.batch / cost.checkIn));
  const [one, batch] = [medianOf(costs.map((cost) => cost.checkIn)), medianOf(costs.map((cost) => cost.batch))];
  const figures = `${one.toFixed(2)} ms a check-in, ${batch.toFixed(2)} ms a batch of ${BATCH}: ${ratio.toFixed(1)}x`;
  report(context, { tried: `${ROUNDS} rounds of ${BATCH} check-ins and 10 batches`, figures });
  expect(quickOrLong(0, ratio), figures).toBeLessThanOrEqual(MAX_RATIO);
});

test('an event is deleted with all of its attendees', { timeout: 900_000 }, async (context) => {
  await using stack = new AsyncDisposableStack();
  const { database, events, measure } = await open(stack);
  const eventId = randomUUID();
  await events.createEvent({ eventId, admission: 'LISTED' });
  const name = (at: number) => ({ attendeeId: `attendee-${at}`, label: `Attendee ${at}` });
  const putMs = await measure(async () => {
    for (let at = 0; at < ATTENDEES; at += MOST_PUT) {
      await events.batchPutAttendees({ eventId, attendees: Array.from({ length: MOST_PUT }, (_, i) => name(at + i)) });
    }
  });
  const begin = performance.now();
  const deleteMs = await measure(() => events.deleteEvent({ eventId }));
  const figures = `${putMs.toFixed(0)} ms of CPU to list them, ${deleteMs.toFixed(0)} ms to delete the event, which took ${(performance.now() - begin).toFixed(0)} ms`;
  report(context, { tried: `an event with ${ATTENDEES} attendees`, figures });
  const [kept] = await database.sql`
    select count(*)::integer as count from attendees where event_id = ${eventId} and removed_at is null`;
  expect(kept).toEqual({ count: 0 });
});

function now() {
  const seconds = BigInt(Math.floor(Date.now() / 1_000));
  return { seconds };
}
