/** Removes what has expired, so that the tables stay the size of what is live. */
import { setTimeout as sleep } from 'node:timers/promises';
import { lt, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import type { Database, Statement } from '../db/database.ts';
import { loginCodes, rateLimits, walletChallenges } from '../db/login-schema.ts';
import { loginIntents, sessions } from '../db/schema.ts';

const INTERVAL_MS = 60_000;
const BATCH_SIZE = 500;
const BATCH_TIMEOUT_MS = 5_000;

/**
 * For an hour a login that comes too late is told that its intent has expired; after that, like
 * any other, that there is none.
 */
const INTENT_GRACE_MS = 60 * 60_000;

const SWEEPS: readonly { statement: Statement<unknown[]>; graceMs: number }[] = [
  {
    statement: deleteExpired(loginCodes, [loginCodes.applicationId, loginCodes.loginIntentId, loginCodes.id]),
    graceMs: 0,
  },
  {
    statement: deleteExpired(walletChallenges, [
      walletChallenges.applicationId,
      walletChallenges.loginIntentId,
      walletChallenges.id,
    ]),
    graceMs: 0,
  },
  { statement: deleteExpired(loginIntents, [loginIntents.applicationId, loginIntents.id]), graceMs: INTENT_GRACE_MS },
  { statement: deleteExpired(sessions, [sessions.applicationId, sessions.userId]), graceMs: 0 },
  { statement: deleteExpired(rateLimits, [rateLimits.key]), graceMs: 0 },
];

/**
 * Sweeps about once a minute until the signal is aborted. Any number of replicas may do so at once:
 * rows that one of them is removing are skipped by the others.
 */
export async function keepHouse(
  database: Database,
  { clock, signal, onError }: { clock: () => Date; signal: AbortSignal; onError: (error: unknown) => void },
): Promise<void> {
  while (!signal.aborted) {
    await sweep(database, clock(), signal).catch(onError);
    // Spread, so that replicas started together do not sweep together.
    await sleep(INTERVAL_MS * (0.5 + Math.random()), undefined, { signal, ref: false }).catch(() => {});
  }
}

/** Removes every expired row, in batches short enough to hold nobody up. */
export async function sweep(database: Database, now: Date, signal?: AbortSignal): Promise<void> {
  for (const { statement, graceMs } of SWEEPS) {
    const before = new Date(now.getTime() - graceMs);
    let removed: unknown[];
    do {
      removed = await database.run(statement, { before }, performance.now() + BATCH_TIMEOUT_MS);
    } while (removed.length === BATCH_SIZE && !signal?.aborted);
  }
}

/** Deletes a batch of the rows that expired before `before`, the oldest first. */
function deleteExpired(table: PgTable & { expiresAt: PgColumn }, key: readonly PgColumn[]): Statement<unknown[]> {
  const columns = sql.join([...key], sql`, `);
  return (db) => {
    const expired = db
      .select({ key: columns })
      .from(table)
      .where(lt(table.expiresAt, sql.param(sql.placeholder('before'), table.expiresAt)))
      .orderBy(table.expiresAt)
      .limit(BATCH_SIZE)
      .for('update', { skipLocked: true });
    return db.delete(table).where(sql`(${columns}) in ${expired}`).returning({ one: sql`1` }).prepare(`delete_expired`);
  };
}
