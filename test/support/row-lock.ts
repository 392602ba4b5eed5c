/** Holds calls in flight for as long as a test likes: they wait in Postgres for a row that the test has locked. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestDatabase } from './database.ts';

export interface RowLock extends AsyncDisposable {
  /** Resolves when that many statements wait for the row. */
  waitedForBy(count: number): Promise<void>;
  /** Lets them go on. */
  release(): Promise<void>;
}

const PATIENCE_MS = 5_000;

export async function lockEvent({ sql }: TestDatabase, eventId: string): Promise<RowLock> {
  const { promise: locked, resolve: onLocked } = Promise.withResolvers<void>();
  const { promise: released, resolve: letGo } = Promise.withResolvers<void>();
  const transaction = sql.begin(async (own) => {
    const rows = await own`select id from events where id = ${eventId} for update`;
    if (rows.length !== 1) throw new Error(`There are ${rows.length} events ${eventId}`);
    onLocked();
    await released;
  });
  await Promise.race([locked, transaction]);

  const release = async () => {
    letGo();
    await transaction;
  };
  return {
    release,
    [Symbol.asyncDispose]: release,
    async waitedForBy(count) {
      const deadline = performance.now() + PATIENCE_MS;
      for (;;) {
        const [row] = await sql<{ waiting: number }[]>`
          select count(*)::int as waiting from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`;
        if (row && row.waiting >= count) return;
        if (performance.now() > deadline)
          throw new Error(`${row?.waiting} statements wait for the event, not ${count}`);
        await sleep(10);
      }
    },
  };
}
