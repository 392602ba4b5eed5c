/** The expiry job removes expired rows, so that tables stay the size of what is live. */
import { sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import type { Database, Statement } from '../database/database.ts';
import { knownOrigins, loginCodes, rateLimits, walletChallenges } from '../database/login-schema.ts';
import { instantPlaceholder, loginIntents, sessions } from '../database/schema.ts';
import { pause } from '../domain/pause.ts';

const INTERVAL_MS = 60_000;
const BATCH_SIZE = 100;
const BATCH_TIMEOUT_MS = 5_000;

/** For an hour, a late login is answered `Login intent expired` instead of `Login intent not found`. */
const INTENT_GRACE_MS = 60 * 60_000;

interface RemovedBatch {
  readonly count: number;
  /** The latest expiry among the removed rows. */
  readonly latest: Date | null;
}

const TABLES: readonly { deleteBatch: Statement<RemovedBatch[]>; graceMs: number }[] = [
  { deleteBatch: deleteExpired(loginCodes), graceMs: 0 },
  { deleteBatch: deleteExpired(walletChallenges), graceMs: 0 },
  { deleteBatch: deleteExpired(loginIntents), graceMs: INTENT_GRACE_MS },
  { deleteBatch: deleteExpired(sessions), graceMs: 0 },
  { deleteBatch: deleteExpired(rateLimits), graceMs: 0 },
  { deleteBatch: deleteExpired(knownOrigins), graceMs: 0 },
];

/**
 * Removes expired rows about once a minute until the signal is aborted. Any number of replicas may run it:
 * each skips the rows that another is removing.
 */
export async function runExpiryJob(
  database: Database,
  { clock, signal, onError }: { clock: () => Date; signal: AbortSignal; onError: (error: unknown) => void },
): Promise<void> {
  while (!signal.aborted) {
    await removeExpired(database, clock(), signal).catch(onError);
    // Jitter, so that replicas started together do not run together.
    await pause(INTERVAL_MS * (0.5 + Math.random()), signal);
  }
}

/**
 * Removes every expired row, in short batches with pauses as long, so that Postgres has at least half of its
 * time for calls.
 */
export async function removeExpired(database: Pick<Database, 'run'>, now: Date, signal?: AbortSignal): Promise<void> {
  for (const { deleteBatch, graceMs } of TABLES) {
    const before = new Date(now.getTime() - graceMs);
    let since = new Date(0);
    for (let isMore = true; isMore; ) {
      const startedAt = performance.now();
      const [removed] = await database.run(deleteBatch, { since, before }, startedAt + BATCH_TIMEOUT_MS);
      // The next batch starts behind the dead rows, which have not been vacuumed.
      since = removed?.latest ?? since;
      isMore = removed?.count === BATCH_SIZE;
      if (isMore) await pause(performance.now() - startedAt, signal);
      if (signal?.aborted) return;
    }
  }
}

/** Deletes a batch of the rows that expired from `since` until before `before`, the oldest first. */
function deleteExpired(table: PgTable & { expiresAt: PgColumn }): Statement<RemovedBatch[]> {
  const { expiresAt } = table;
  // Every plan reads one batch only: the limit is part of the text, `ctid` finds the rows, and the lower bound is a
  // row comparison, because Postgres estimates a range between two parameters as almost empty.
  const expired = sql`
    select ctid from ${table}
    where (${expiresAt}, 0) >= (${instantPlaceholder('since')}, 0) and ${expiresAt} < ${instantPlaceholder('before')}
    order by ${expiresAt} limit ${sql.raw(String(BATCH_SIZE))} for update skip locked`;
  return (db) => {
    const removed = db
      .$with('removed')
      .as(db.delete(table).where(sql`ctid = any(array(${expired}))`).returning({ expiresAt }));
    return db
      .with(removed)
      .select({
        count: sql<number>`count(*)::int`,
        latest: sql<Date | null>`max(expires_at)`.mapWith((instant: string) => new Date(instant)),
      })
      .from(removed)
      .prepare('delete_expired');
  };
}
