/** Removes what has expired, so that the tables stay the size of what is live. */

import { setTimeout as sleep } from 'node:timers/promises';
import { lt, sql } from 'drizzle-orm';
import type { Database, Statement } from '../db/database.ts';
import { loginIntents, sessions } from '../db/schema.ts';

const INTERVAL_MS = 60_000;
const BATCH_SIZE = 500;
const BATCH_TIMEOUT_MS = 5_000;

/**
 * For an hour a login that comes too late is told that its intent has expired; after that, like
 * any other, that there is none.
 */
const INTENT_GRACE_MS = 60 * 60_000;

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

/** Removes every expired intent and session, in batches short enough to hold nobody up. */
export async function sweep(database: Database, now: Date, signal?: AbortSignal): Promise<void> {
  const sweeps = [
    { statement: deleteExpiredIntents, before: new Date(now.getTime() - INTENT_GRACE_MS) },
    { statement: deleteExpiredSessions, before: now },
  ];
  for (const { statement, before } of sweeps) {
    let removed: unknown[];
    do {
      removed = await database.run(statement, { before }, performance.now() + BATCH_TIMEOUT_MS);
    } while (removed.length === BATCH_SIZE && !signal?.aborted);
  }
}

const deleteExpiredIntents: Statement<unknown[]> = (db) => {
  const expired = db
    .select({ applicationId: loginIntents.applicationId, id: loginIntents.id })
    .from(loginIntents)
    .where(lt(loginIntents.expiresAt, sql.param(sql.placeholder('before'), loginIntents.expiresAt)))
    .orderBy(loginIntents.expiresAt)
    .limit(BATCH_SIZE)
    .for('update', { skipLocked: true });
  return db
    .delete(loginIntents)
    .where(sql`(${loginIntents.applicationId}, ${loginIntents.id}) in ${expired}`)
    .returning({ id: loginIntents.id })
    .prepare('delete_expired_login_intents');
};

const deleteExpiredSessions: Statement<unknown[]> = (db) => {
  const expired = db
    .select({ applicationId: sessions.applicationId, userId: sessions.userId })
    .from(sessions)
    .where(lt(sessions.expiresAt, sql.param(sql.placeholder('before'), sessions.expiresAt)))
    .orderBy(sessions.expiresAt)
    .limit(BATCH_SIZE)
    .for('update', { skipLocked: true });
  return db
    .delete(sessions)
    .where(sql`(${sessions.applicationId}, ${sessions.userId}) in ${expired}`)
    .returning({ id: sessions.id })
    .prepare('delete_expired_sessions');
};
