/** What check-in at doors costs: CPU time of the server and of Postgres, compared within one run, and rows that are read. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { PREFER_INDEXES } from '../../src/database/connection/connection-settings.ts';
import { Database } from '../../src/database/pool/database.ts';
import { DAY_MS } from '../../src/database/schema/table-facts.ts';
import { BY_USHER, withAudit } from '../../src/domain/audit/audit-event.ts';
import type { Transactional } from '../../src/domain/core/call.ts';
import { batchCheckIn } from '../../src/domain/events/batch-check-in.ts';
import { removeExpired } from '../../src/jobs/expiry.ts';
import { findBackends, readUsage } from '../lab/bench/read-usage.ts';
import { medianOf } from '../lab/bench/statistics.ts';
import { cloneDatabase, LAYOUT } from '../support/database.ts';
import { startUsher } from '../support/process.ts';
import { RecordingDatabase } from '../support/recording-database.ts';
import { clientsOf, createTenant, startTestService } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const BATCH = 200;
/** A batch of 200 scans may cost as much as so many check-ins without new fields. It was 12 to 14 at the last measurements. */
const MAX_RATIO = 15;
const ROUNDS = quickOrLong(1, 9);
const ATTENDEES = quickOrLong(1_000, 100_000);
const MOST_PUT = 500;
type List = readonly [eventId: string, length: number];
/** Events with the length of their lists. */
const LISTS: readonly [List, List] = [
  ['short', 400],
  ['long', quickOrLong(20_000, 100_000)],
];

async function open(stack: AsyncDisposableStack) {
  const database = stack.use(await cloneDatabase());
  // With the young generation that it has in production: a small one makes a large request dearer than many small ones.
  const usher = stack.use(await startUsher(database.url, { WEBHOOK_DELIVERY: 'false', NODE_OPTIONS: '' }));
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

/** Runs transactions, and counts what they have read. */
class CountingDatabase extends RecordingDatabase {
  /** Returns how many rows and index entries of events, lists and scans the work has read, and how often it searched. */
  async countReads(work: () => Promise<unknown>): Promise<number> {
    // As each transaction of Usher.
    await this.client.unsafe(`begin; ${PREFER_INDEXES}`);
    const before = await this.#readCount();
    await work();
    const after = await this.#readCount();
    await this.client`commit`;
    return after - before;
  }

  async #readCount(): Promise<number> {
    const [row] = await this.client`
      with tables as (
        select oid from pg_class
        where relname in ('events', 'attendees', 'check_ins', 'scans') and relnamespace = 'usher'::regnamespace
      ), read as (
        select oid from tables union all select indexrelid from pg_index where indrelid in (select oid from tables)
      )
      select sum(pg_stat_get_xact_tuples_returned(oid) + pg_stat_get_xact_numscans(oid))::integer as count from read`;
    return row?.count;
  }
}

test.each([
  'before Postgres knows statistics',
  'after Postgres knows statistics',
  'planned while the lists were short',
  'without a list, planned while there were few check-ins',
])('a batch reads as much of a long list as of a short one, %s', async (when) => {
  const hasList = !when.startsWith('without');
  await using service = await startTestService();
  const { sql, url } = service.database;
  await using counting = new CountingDatabase(url);
  const tenant = await createTenant(service);
  const now = new Date();
  const run = withAudit(counting.within(0), { ...BY_USHER, action: 'test', now });
  const transact: Transactional['transact'] = (work) => work(run);
  const call = { application: { ...tenant, redirectUris: [] }, run, transact, now };
  // Among few instants Postgres may search each one, and keep doing so among many.
  const fill = async ([eventId, length]: List, pause = 1) => {
    await sql`
      insert into events (application_id, id, created_at, admission, attendee_version)
      values (${tenant.id}, ${eventId}, now(), 'ANYONE', ${hasList ? length : 0})`;
    if (hasList)
      await sql`
      insert into attendees (application_id, event_id, attendee_id, label, is_blocked, version, changed_at)
      select ${tenant.id}, ${eventId}, n, n, false, n, now() from generate_series(1, ${length}::integer) as n`;
    await sql`
      insert into check_ins (application_id, event_id, attendee_id, checked_in_at)
      select ${tenant.id}, ${eventId}, n, now() + n * ${pause}::integer * interval '1 ms' from generate_series(1, ${length / 2}::integer) as n`;
    await sql`
      insert into scans (application_id, event_id, scan_id, attendee_id, outcome, received_at)
      select application_id, event_id, gen_random_uuid(), attendee_id, 'CHECKED_IN', now() from check_ins
      where event_id = ${eventId}`;
  };
  const counts: number[] = [];
  // Postgres plans the first five executions with their values, and then keeps a plan.
  const checkIn = async ([eventId, length]: List) => {
    for (let batch = 1; batch <= 7; batch++) {
      // Half of them are checked in already.
      const scans = Array.from({ length: 20 }, (_, at) => ({
        scanId: randomUUID(),
        attendeeId: String((length / 20) * at + batch),
      }));
      counts.push(await counting.countReads(() => batchCheckIn(call, { eventId, scans })));
    }
  };
  const [short, long] = LISTS;
  await fill(short, 0);
  if (when.includes('planned')) {
    await sql`analyze`;
    await checkIn(short);
    await fill(long);
  } else {
    await fill(long);
    if (when.startsWith('after')) await sql`analyze`;
    await checkIn(short);
  }
  await checkIn(long);
  expect(counts).toEqual(counts.map(() => counts[0]));
});

test('an event is deleted, and 30 days later all of its attendees', { timeout: 900_000 }, async (context) => {
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
  const deleteMs = await measure(() => events.deleteEvent({ eventId }));
  const own = new Database(database.url, { connections: 1, layout: LAYOUT, statementTimeoutMs: 60_000 });
  stack.defer(() => own.close());
  const now = new Date(Date.now() + 31 * DAY_MS);
  const removeMs = await measure(() => removeExpired(own, { now, webhookLogDays: 14 }));
  const figures = `${putMs.toFixed(0)} ms of CPU to list them, ${deleteMs.toFixed(0)} ms to delete the event, ${removeMs.toFixed(0)} ms to remove them`;
  report(context, { tried: `an event with ${ATTENDEES} attendees`, figures });
  const [left] = await database.sql`select count(*)::integer as count from attendees where event_id = ${eventId}`;
  expect(left).toEqual({ count: 0 });
});

function now() {
  const seconds = BigInt(Math.floor(Date.now() / 1_000));
  return { seconds };
}
