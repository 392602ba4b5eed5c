import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Database, DatabaseUnavailableError, type Statement } from '../../src/database/database.ts';
import { cloneDatabase, countConnections, type TestDatabase } from '../support/database.ts';
import { holdLock, type Lock, waitForLockWaiters } from '../support/lock.ts';

/** Longer than a lane needs to be found stuck, and what is in the way to be cancelled, on a busy machine. */
const SETTLE_MS = 800;
const PATIENCE_MS = 10_000;

const things = pgTable('things', { id: integer('id').primaryKey(), name: text('name').notNull() });

let testDatabase: TestDatabase;

beforeAll(async () => {
  testDatabase = await cloneDatabase();
  await testDatabase.sql`create table things (id int primary key, name text not null)`;
});

beforeEach(async () => {
  await testDatabase.sql`truncate things`;
  await testDatabase.sql`insert into things values (1, 'one')`;
});

afterAll(async () => {
  await testDatabase[Symbol.asyncDispose]();
});

test('a statement that waits for a lock does not hold up those of other kinds behind it', async () => {
  await using database = open({ connections: 1 });
  await using _lock = await lockThings();
  const held = outcomeOf(database.run(rename, { name: 'uno' }, soon()));
  const others = Array.from({ length: 5 }, () => outcomeOf(database.run(ping, {}, performance.now() + SETTLE_MS)));
  expect(await Promise.all(others)).toEqual(['done', 'done', 'done', 'done', 'done']);
  expect(await held).toBe('unavailable');
});

test('statements that are in the way of nobody wait until the lock is gone', async () => {
  await using database = open({ connections: 2 });
  await using lock = await lockThings();
  const held = Array.from({ length: 6 }, () => outcomeOf(database.run(rename, { name: 'uno' }, soon())));
  await sleep(SETTLE_MS);
  const others = Array.from({ length: 5 }, () => outcomeOf(database.run(ping, {}, performance.now() + SETTLE_MS)));
  expect(await Promise.all(others)).toEqual(['done', 'done', 'done', 'done', 'done']);
  const late = outcomeOf(database.run(rename, { name: 'due' }, soon()));
  await lock.release();
  expect(await late).toBe('done');
  expect(await Promise.all(held)).toContain('done');
});

test('only so many statements wait for a lock; more are unavailable at once', async () => {
  await using database = open({ connections: 1 });
  await using lock = await lockThings();
  const first = outcomeOf(database.run(rename, { name: 'uno' }, soon()));
  await sleep(SETTLE_MS);
  const crowd = Array.from({ length: 100 }, () => outcomeOf(database.run(rename, { name: 'due' }, soon())));
  // With the first there are 64.
  const [waiting, refused] = [crowd.slice(0, 63), crowd.slice(63)];
  const answers = await Promise.race([Promise.all(refused), sleep(SETTLE_MS, 'they wait')]);
  expect(answers).toEqual(refused.map(() => 'unavailable'));
  await lock.release();
  expect(await first).toBe('done');
  expect(await Promise.all(waiting)).toEqual(waiting.map(() => 'done'));
});

test('a statement whose caller is gone is cancelled, and has no effect later', async () => {
  await using database = open({ connections: 1 });
  await using lock = await lockThings();
  expect(await outcomeOf(database.run(rename, { name: 'uno' }, performance.now() + 150))).toBe('unavailable');
  await sleep(SETTLE_MS);
  await lock.release();
  await sleep(100);
  expect(await testDatabase.sql`select name from things`).toEqual([{ name: 'one' }]);
});

// Once in a while the service itself cancels the next one, and its second try is used up.
test('a statement that is cancelled in place of the one before it is run all the same', { retry: 2 }, async () => {
  await using database = open({ connections: 1 });
  await using lock = await lockThings();
  const late = outcomeOf(database.run(rename, { name: 'uno' }, performance.now() + 150));
  await waitForLockWaiters(testDatabase);
  const next = outcomeOf(database.run(rename, { name: 'due' }, soon()));
  expect(await late).toBe('unavailable');
  await sleep(SETTLE_MS);
  // As does a cancel that was meant for the first and comes late.
  const cancelled = await testDatabase.sql`
    select pg_cancel_backend(pid) from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and application_name like 'usher %'`;
  expect(cancelled).toHaveLength(1);
  await sleep(100);
  await lock.release();
  expect(await next).toBe('done');
  expect(await testDatabase.sql`select name from things`).toEqual([{ name: 'due' }]);
});

test('a statement that is slow for another reason is left alone', async () => {
  await using database = open({ connections: 1 });
  const slow = outcomeOf(database.run(pause, {}, soon()));
  await sleep(50);
  const behind = outcomeOf(database.run(ping, {}, soon()));
  expect([await slow, await behind]).toEqual(['done', 'done']);
});

test('connections opened because of locks are closed again, but the one that looks out for them', async () => {
  await using database = open({ connections: 2 });
  await using lock = await lockThings();
  const held = Array.from({ length: 20 }, () => outcomeOf(database.run(rename, { name: 'uno' }, soon())));
  await sleep(SETTLE_MS);
  const others = Array.from({ length: 4 }, () => outcomeOf(database.run(ping, {}, soon())));
  expect(await Promise.all(others)).toEqual(['done', 'done', 'done', 'done']);
  // Two lanes, two on sidings, and the lookout.
  await expect.poll(() => countConnections(testDatabase)).toBe(5);
  await lock.release();
  await Promise.all(held);
  await expect.poll(() => countConnections(testDatabase)).toBeLessThanOrEqual(3);
  expect(await outcomeOf(database.run(rename, { name: 'due' }, soon()))).toBe('done');
});

const rename: Statement<unknown> = (db) =>
  db
    .update(things)
    .set({ name: sql`${sql.placeholder('name')}` })
    .prepare('rename_things');

const ping: Statement<unknown> = (db) =>
  db.select({ one: sql`1` }).from(sql`(select) as nothing`).prepare('ping_things');

const pause: Statement<unknown> = (db) => db.select({ one: sql`1` }).from(sql`pg_sleep(0.5)`).prepare('pause_things');

function open({ connections }: { connections: number }): Database & AsyncDisposable {
  const database = new Database(testDatabase.url, { connections, statementTimeoutMs: PATIENCE_MS });
  return Object.assign(database, { [Symbol.asyncDispose]: () => database.close() });
}

async function lockThings(): Promise<Lock> {
  return holdLock(testDatabase, 'lock table things in access exclusive mode');
}

function soon(): number {
  return performance.now() + PATIENCE_MS;
}

async function outcomeOf(rows: Promise<unknown>): Promise<string> {
  return rows.then(
    () => 'done',
    (error) => (error instanceof DatabaseUnavailableError ? 'unavailable' : String(error)),
  );
}
