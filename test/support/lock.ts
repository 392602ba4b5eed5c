import { setTimeout as sleep } from 'node:timers/promises';
import type { TestDatabase } from './database.ts';

export interface Lock extends AsyncDisposable {
  release(): Promise<void>;
}

/** Runs the statement in a transaction that stays open, with the locks it has taken, until it is released. */
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

const PATIENCE_MS = 10_000;

/** Resolves when as many statements in the database wait for a lock. */
export async function waitForLockWaiters({ sql }: TestDatabase, count = 1): Promise<void> {
  const giveUpAt = performance.now() + PATIENCE_MS;
  for (;;) {
    const waiting = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    if (waiting.length >= count) return;
    if (performance.now() > giveUpAt) throw new Error(`${waiting.length} statements wait for a lock, not ${count}`);
    await sleep(5);
  }
}

export interface EventLock extends Lock {
  /** Resolves when that many statements wait for it. */
  waitedForBy(count: number): Promise<void>;
}

/** Holds the calls that change the event in flight. */
export async function lockEvent(database: TestDatabase, eventId: string): Promise<EventLock> {
  const lock = await holdLock(database, `select from events where id = '${eventId}' for update`);
  return { ...lock, waitedForBy: (count) => waitForLockWaiters(database, count) };
}
