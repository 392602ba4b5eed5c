import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { eq, sql } from 'drizzle-orm';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { Database, DatabaseUnavailableError, type Statement } from '../../../src/database/pool/database.ts';
import { cloneDatabase, countConnections } from '../../support/database.ts';
import { holdLock, type Lock, lockEvent, waitForLockWaiters } from '../../support/lock.ts';
import {
  clientsOf,
  createTenant,
  createTestEvent,
  createTestWebhook,
  startTestService,
} from '../../support/service.ts';

/** When a statement ends that waits for a lock, and when one that must not wait for it, on however busy a machine. */
const TIMEOUT_MS = 90_000;
const SOON_MS = 30_000;
/** How many executions of one statement run at the same time when each waits for a lock. */
const ISOLATED = 6;
/** How many of them if they are of one application. */
const ISOLATED_OF_APPLICATION = 4;
/** How many of all statements do. */
const ISOLATED_OF_ALL = 8;

const SHARED = [{ connection: 'usher pool' }];
const APART = [{ connection: 'usher lock isolation' }];

const things = pgTable('things', { id: integer('id').primaryKey(), name: text('name').notNull() });

const testDatabase = await cloneDatabase();
await testDatabase.sql`create table things (id int primary key, name text not null)`;
await testDatabase.sql`create table others (id int primary key)`;
await testDatabase.sql`
  create function wait_long() returns text language plpgsql set lock_timeout = 0
  as 'begin perform pg_advisory_xact_lock(1); return null; end'`;

beforeEach(async () => {
  await testDatabase.sql`truncate things`;
  await testDatabase.sql`insert into things values (1, 'one')`;
});

afterAll(() => testDatabase[Symbol.asyncDispose]());

describe('while statements wait for a lock', () => {
  test('others go on', async () => {
    await using database = openDatabase(1);
    await using lock = await lockTable('things');
    const waiting = outcomeOf(database.run(rename, { name: 'uno' }, late()));
    // It writes, too, so it shares their connection.
    expect(await outcomesOf(5, () => database.run(removeOthers, {}, soon()))).toEqual(done(5));
    await lock.release();
    expect(await waiting).toBe('done');
  });

  test('they all succeed once it is released', async () => {
    await using database = openDatabase(2);
    await using lock = await lockTable('things');
    const waiting = outcomesOf(20, () => database.run(rename, { name: 'uno' }, late()));
    await waitUntilIsolated(database, ISOLATED);
    await database.ping(soon());
    const last = outcomeOf(database.run(rename, { name: 'due' }, late()));
    await lock.release();
    expect(await last).toBe('done');
    expect(await waiting).toEqual(done(20));
  });

  test('another that has waited for a lock before goes on', async () => {
    await using database = openDatabase(2);
    await using lock = await lockTable('things');
    const waiting = outcomesOf(20, () => database.run(rename, { name: 'uno' }, late()));
    {
      await using _lock = await lockTable('others');
      expect(await outcomeOf(database.run(removeOthers, {}, performance.now() + 200))).toBe('unavailable');
    }
    await waitForLockWaiters(testDatabase, ISOLATED);
    expect(await outcomeOf(database.run(removeOthers, {}, soon()))).toBe('done');
    await lock.release();
    expect(await waiting).toEqual(done(20));
  });

  test('another goes on that was taken for one of them, even if they take all connections', async () => {
    await using database = openDatabase(2);
    await using lock = await lockTable('things');
    const waiting = [
      outcomesOf(20, () => database.run(rename, { name: 'uno' }, late())),
      outcomesOf(20, () => database.run(removeThings, {}, late())),
    ];
    await waitUntilIsolated(database, ISOLATED_OF_ALL);
    // It takes long by itself.
    const runPause = () => outcomeOf(database.run(pause, {}, soon()));
    expect(await runPause()).toBe('done');
    expect(await Promise.all([runPause(), runPause(), runPause()])).toEqual(done(3));
    await lock.release();
    expect(await Promise.all(waiting)).toEqual([done(20), done(20)]);
  });

  test('64 more of them may wait, and the rest is unavailable at once', async () => {
    await using database = openDatabase(1);
    await using lock = await lockTable('things');
    const running = outcomesOf(ISOLATED, () => database.run(rename, { name: 'uno' }, late()));
    await waitUntilIsolated(database, ISOLATED);
    const waiting = outcomesOf(64, () => database.run(rename, { name: 'due' }, late()));
    const refused = outcomesOf(36, () => database.run(rename, { name: 'tre' }, late()));
    const theyWait = sleep(SOON_MS, 'they wait', { ref: false });
    expect(await Promise.race([refused, theyWait])).toEqual(Array(36).fill('unavailable'));
    await lock.release();
    expect(await running).toEqual(done(ISOLATED));
    expect(await waiting).toEqual(done(64));
  });

  test('one whose caller has gone ends without effect', async () => {
    await using database = openDatabase(1);
    await using lock = await lockTable('things');
    expect(await outcomeOf(database.run(rename, { name: 'uno' }, performance.now() + 300))).toBe('unavailable');
    const waiting = () => testDatabase.sql`
      select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await expect.poll(waiting).toEqual([]);
    await lock.release();
    expect(await testDatabase.sql`select name from things`).toEqual([{ name: 'one' }]);
  });

  test('they have connections of their own, which close some time after', async () => {
    await using database = openDatabase(2);
    await database.ping(soon());
    await using lock = await lockTable('things');
    const waiting = outcomesOf(20, () => database.run(rename, { name: 'uno' }, late()));
    await waitUntilIsolated(database, ISOLATED);
    // Two that write, and the control connection.
    await expect.poll(() => countConnections(testDatabase)).toBe(3 + ISOLATED);
    await lock.release();
    await waiting;
    await expect.poll(() => countConnections(testDatabase)).toBe(3);
    expect(await outcomeOf(database.run(rename, { name: 'due' }, soon()))).toBe('done');
  });

  test('a check-in of another tenant and reads of the same tenant succeed', async () => {
    await using service = await startTestService({ config: { databaseConnections: 2 } });
    const [tenant, other] = [await createTenant(service), await createTenant(service)];
    const [eventId, otherEventId] = [await createTestEvent(service, tenant), await createTestEvent(service, other)];
    const { events, webhooks } = clientsOf(service, tenant);
    const { webhookId } = await createTestWebhook(service, tenant);

    await using lock = await lockEvent(service.database, eventId);
    const checkIns = outcomesOf(80, () => events.checkIn({ eventId, attendeeId: randomUUID() }));
    await clientsOf(service, other).events.checkIn({ eventId: otherEventId, attendeeId: 'at once' });
    await lock.waitedForBy(ISOLATED_OF_APPLICATION);
    for (let call = 0; call < 5; call++) {
      const attendeeId = `attendee ${call}`;
      await clientsOf(service, other).events.checkIn({ eventId: otherEventId, attendeeId }, { timeoutMs: SOON_MS });
      await webhooks.getWebhook({ webhookId }, { timeoutMs: SOON_MS });
    }
    await lock.release();
    expect((await checkIns).filter((outcome) => outcome === 'done').length).toBeGreaterThanOrEqual(64);
  });
});

describe('while an application waits for a row', () => {
  test('others run the same statement on the shared connections', async () => {
    await insertThings(9);
    await using database = openDatabase(2);
    await using lock = await lockThings('id = 1');
    const waiting = Promise.all(
      Array.from({ length: 20 }, () => database.run(renameOne, { applicationId: 'busy', id: 1 }, late())),
    );
    await waitUntilIsolated(database, ISOLATED_OF_APPLICATION);
    for (let id = 2; id <= 9; id++)
      expect(await database.run(renameOne, { applicationId: `quiet ${id}`, id }, soon())).toEqual(SHARED);
    await lock.release();
    for (const rows of (await waiting).slice(ISOLATED_OF_APPLICATION)) expect(rows).toEqual(APART);
  });

  test('and two more do, the statement leaves the shared connections until they no longer wait', async () => {
    await insertThings(4);
    await using database = openDatabase(2);
    await using lock = await lockThings('id < 4');
    const waiting = [1, 2, 3].map((id) => database.run(renameOne, { applicationId: `busy ${id}`, id }, late()));
    await waitUntilIsolated(database, 3);
    const runOther = () => database.run(renameOne, { applicationId: 'quiet', id: 4 }, soon());
    expect(await runOther()).toEqual(APART);
    await lock.release();
    await Promise.all(waiting);
    await expect.poll(runOther).toEqual(SHARED);
  });
});

test('statements that wait for one row, each briefly, do not delay others like them at another row', async () => {
  await testDatabase.sql`insert into things values (2, 'two')`;
  await using database = openDatabase(2);
  let turns = 0;
  let isOver = false;
  const takeTurns = async () => {
    for (; !isOver; turns++) await database.run(renameSlowly, { applicationId: 'busy', id: 1 }, soon());
  };
  // As many as two connections have in flight.
  const busy = outcomesOf(32, takeTurns);
  await waitUntilIsolated(database, ISOLATED_OF_APPLICATION);
  const before = turns;
  await database.run(renameSlowly, { applicationId: 'other', id: 2 }, soon());
  expect(turns - before).toBeLessThan(10);
  isOver = true;
  expect(await busy).toEqual(done(32));
});

test('a statement that waits longer than others leaves the shared connections, even if no lock_timeout ends it', async () => {
  await insertThings(2);
  await using database = openDatabase(2);
  await using lock = await holdLock(testDatabase, 'select pg_advisory_xact_lock(1)');
  const run = (id: number) => database.run(waitForFirst, { applicationId: 'busy', id }, late());
  const waiting = run(1);
  // The other connection answers it until then.
  await expect.poll(() => run(2)).toEqual(APART);
  await lock.release();
  expect(await waiting).toEqual(SHARED);
});

test('a slow statement that waits for no lock runs to its end', async () => {
  await using database = openDatabase(1);
  const slow = outcomeOf(database.run(pause, {}, soon()));
  await sleep(50);
  const next = outcomeOf(database.run(removeOthers, {}, soon()));
  expect([await slow, await next]).toEqual(['done', 'done']);
});

const rename: Statement<unknown> = (db) =>
  db
    .update(things)
    .set({ name: sql`${sql.placeholder('name')}` })
    .prepare('rename_things');

const renameOne: Statement<{ connection: string }[]> = (db) =>
  db
    .update(things)
    .set({ name: sql`${sql.placeholder('applicationId')}` })
    .where(eq(things.id, sql.placeholder('id')))
    .returning({ connection: sql<string>`current_setting('application_name')` })
    .prepare('rename_one');

const renameSlowly: Statement<unknown> = (db) =>
  db
    .update(things)
    .set({ name: sql`${sql.placeholder('applicationId')}` })
    .where(sql`id = ${sql.placeholder('id')}`)
    .returning({ pause: sql`pg_sleep(0.04)` })
    .prepare('rename_slowly');

/** Waits for a lock at the first thing alone. */
const waitForFirst: Statement<{ connection: string }[]> = (db) =>
  db
    .update(things)
    .set({ name: sql`coalesce(case when id = 1 then wait_long() end, name)` })
    .where(eq(things.id, sql.placeholder('id')))
    .returning({ connection: sql<string>`current_setting('application_name')` })
    .prepare('wait_for_first');

const removeThings: Statement<unknown> = (db) => db.delete(things).prepare('remove_things');

const removeOthers: Statement<unknown> = (db) =>
  db.delete(pgTable('others', { id: integer('id') })).prepare('remove_others');

const pause: Statement<unknown> = (db) => db.select({ one: sql`1` }).from(sql`pg_sleep(0.5)`).prepare('pause_things');

function openDatabase(connections: number): Database & AsyncDisposable {
  const database = new Database(testDatabase.url, { connections, statementTimeoutMs: TIMEOUT_MS });
  return Object.assign(database, { [Symbol.asyncDispose]: () => database.close() });
}

function lockTable(name: string): Promise<Lock> {
  return holdLock(testDatabase, `lock table ${name} in access exclusive mode`);
}

function lockThings(condition: string): Promise<Lock> {
  return holdLock(testDatabase, `select from things where ${condition} for update`);
}

/** Adds rows up to that ID. */
async function insertThings(last: number): Promise<void> {
  await testDatabase.sql`insert into things select id, 'some' from generate_series(2, ${last}::int) id`;
}

/** Resolves when so many statements wait for a lock, and none of them any more on a shared connection. */
async function waitUntilIsolated(database: Database, count: number): Promise<void> {
  const load = () => [database.load.pools.lock_isolation.inFlight, database.load.pools.write];
  await expect.poll(load).toEqual([count, { inFlight: 0, waiting: 0 }]);
}

function soon(): number {
  return performance.now() + SOON_MS;
}

function late(): number {
  return performance.now() + TIMEOUT_MS;
}

const done = (count: number): string[] => Array(count).fill('done');

async function outcomesOf(count: number, run: () => Promise<unknown>): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, () => outcomeOf(run())));
}

async function outcomeOf(rows: Promise<unknown>): Promise<string> {
  return rows.then(
    () => 'done',
    (error) => (error instanceof DatabaseUnavailableError ? 'unavailable' : String(error)),
  );
}
