/** Removes what has expired, so that the tables stay the size of what is live. */
import { sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import type { Database, Statement } from '../database/database.ts';
import { loginCodes, rateLimits, walletChallenges } from '../database/login-schema.ts';
import { instantPlaceholder, loginIntents, sessions } from '../database/schema.ts';
import { pause } from '../domain/pause.ts';

const INTERVAL_MS = 60_000;
const BATCH_SIZE = 100;
const BATCH_TIMEOUT_MS = 5_000;

/**
 * For an hour a login that comes too late is told that its intent has expired; after that, like
 * any other, that there is none.
 */
const INTENT_GRACE_MS = 60 * 60_000;

/** What has been removed. */
interface Batch {
  readonly count: number;
  /** When the last of it expired. */
  readonly latest: Date | null;
}

const SWEEPS: readonly { deleteBatch: Statement<Batch[]>; graceMs: number }[] = [
  { deleteBatch: deleteExpired(loginCodes), graceMs: 0 },
  { deleteBatch: deleteExpired(walletChallenges), graceMs: 0 },
  { deleteBatch: deleteExpired(loginIntents), graceMs: INTENT_GRACE_MS },
  { deleteBatch: deleteExpired(sessions), graceMs: 0 },
  { deleteBatch: deleteExpired(rateLimits), graceMs: 0 },
];

/**
 * Sweeps about once a minute until the signal is aborted. Any number of replicas may do so at once:
 * rows that one of them is removing are skipped by the others.
 */
export async function runExpiryJob(
  database: Database,
  { clock, signal, onError }: { clock: () => Date; signal: AbortSignal; onError: (error: unknown) => void },
): Promise<void> {
  while (!signal.aborted) {
    await sweep(database, clock(), signal).catch(onError);
    // Spread, so that replicas started together do not sweep together.
    await pause(INTERVAL_MS * (0.5 + Math.random()), signal);
  }
}

/**
 * Removes every expired row, in batches short enough to hold nobody up, and with pauses as long, so that
 * Postgres has at least half of its time for calls however much there is to remove.
 */
export async function sweep(database: Pick<Database, 'run'>, now: Date, signal?: AbortSignal): Promise<void> {
  for (const { deleteBatch, graceMs } of SWEEPS) {
    const before = new Date(now.getTime() - graceMs);
    let since = new Date(0);
    for (let isMore = true; isMore; ) {
      const startedAt = performance.now();
      const [removed] = await database.run(deleteBatch, { since, before }, startedAt + BATCH_TIMEOUT_MS);
      // The next batch need not find its way past what is gone but has not been vacuumed yet.
      since = removed?.latest ?? since;
      isMore = removed?.count === BATCH_SIZE;
      if (isMore) await pause(performance.now() - startedAt, signal);
      if (signal?.aborted) return;
    }
  }
}

/** Deletes a batch of the rows that expired from `since` until before `before`, the oldest first. */
function deleteExpired(table: PgTable & { expiresAt: PgColumn }): Statement<Batch[]> {
  const { expiresAt } = table;
  // So that any plan reads just a batch: the limit is part of the text, the rows are found by where they are, and the
  // lower bound is written as a row, since for a range between two parameters Postgres expects next to nothing.
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
