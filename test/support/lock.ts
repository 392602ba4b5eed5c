import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { LOCK_TIMEOUT_MS } from '../../src/database/pool/lock-isolation.ts';
import { LAYOUT, type TestDatabase } from './database.ts';

export interface Lock extends AsyncDisposable {
  release(): Promise<void>;
}

/** Runs the statement in a transaction that keeps its locks until `release`. */
export async function holdLock({ sql }: Pick<TestDatabase, 'sql'>, statement: string): Promise<Lock> {
  const held = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const transaction = sql.begin(async (inTransaction) => {
    await inTransaction.unsafe(statement);
    held.resolve();
    await released.promise;
  });
  await Promise.race([held.promise, transaction]);
  const release = async () => {
    released.resolve();
    await transaction;
  };
  return { release, [Symbol.asyncDispose]: release };
}

/** Resolves when a statement in the database waits for a lock. Fails once `work`, which should wait for it, has ended. */
export async function waitForLockOf(database: TestDatabase, work: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  const ended = Promise.allSettled([work]).then(() => {
    throw new Error('It has ended without waiting for a lock');
  });
  try {
    await Promise.race([waitForLockWaiters(database, 1, over.signal), ended]);
  } finally {
    over.abort();
  }
}

/** Resolves when at least `count` statements in the database wait for a lock, or the signal is aborted. */
export async function waitForLockWaiters({ sql }: TestDatabase, count = 1, signal?: AbortSignal): Promise<void> {
  const deadline = performance.now() + 60_000;
  // On Citus they wait on its workers.
  const activity = LAYOUT === 'distributed' ? 'citus_stat_activity' : 'pg_stat_activity';
  while (!signal?.aborted) {
    const waiting = await sql`
      select from ${sql(activity)} where datname = current_database() and wait_event_type = 'Lock'`;
    if (waiting.length >= count) return;
    if (performance.now() > deadline) throw new Error(`${waiting.length} statements wait for a lock, not ${count}`);
    await sleep(5);
  }
}

/** The same, of statements on connections that keep their places in the queue: Usher does not begin them anew. */
export async function waitForQueue(database: TestDatabase, count = 1): Promise<void> {
  if (LAYOUT === 'distributed') return waitForLockWaiters(database, count);
  const readQueue = () => database.sql`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
      and clock_timestamp() - query_start > ${`${3 * LOCK_TIMEOUT_MS} ms`}::interval`;
  await expect.poll(readQueue, { timeout: 60_000 }).toHaveLength(count);
}

export type EventLock = Awaited<ReturnType<typeof lockEvent>>;

/** Locks the row of the event. `waitedForBy` resolves when at least so many statements wait for the lock. */
export async function lockEvent(database: TestDatabase, eventId: string) {
  const lock = await holdLock(database, `select from events where id = '${eventId}' for update`);
  return { ...lock, waitedForBy: (count: number) => waitForLockWaiters(database, count) };
}
