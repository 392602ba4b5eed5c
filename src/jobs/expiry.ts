/** The expiry job removes expired rows, so that tables stay the size of what is live. */
import { and, gt, inArray, lte, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { auditEvents } from '../database/audit-schema.ts';
import type { Database, Statement } from '../database/database.ts';
import { knownOrigins, loginCodes, rateLimits, walletChallenges } from '../database/login-schema.ts';
import { instantPlaceholder, loginIntents } from '../database/schema.ts';
import { sessionCutoffs, sessionIds, sessions, userCutoffs } from '../database/session-schema.ts';
import { webhookAttempts, webhookDeliveries, webhookMessages, webhookSigningKeys } from '../database/webhook-schema.ts';
import { pause } from '../domain/pause.ts';

const INTERVAL_MS = 60_000;
const BATCH_SIZE = 500;
const BATCH_TIMEOUT_MS = 5_000;

/** A pause is so many times as long as the batch before it, so that Postgres has most of its time for calls. */
const PAUSE_FACTOR = 3;

/** For an hour, a late login is answered `Login intent expired` instead of `Login intent not found`. */
const INTENT_GRACE_MS = 60 * 60_000;

const DAY_MS = 24 * 60 * 60_000;

/** How long the audit log is kept: a year, and what a yearly review takes. */
const AUDIT_RETENTION_MS = 400 * DAY_MS;

/** Messages outlive their log by the length of the retry schedule, for those that are delivered again at its end. */
const MESSAGE_GRACE_MS = 4 * DAY_MS;

/** Deletes expired sessions of replicas of the version before, which has no `session_ids`. */
const deleteUnrecordedSessions: Statement<unknown> = (db) =>
  db
    .delete(sessions)
    .where(sql`${sessions.method} = '' and ${sessions.expiresAt} < ${instantPlaceholder('now')}`)
    .prepare('delete_unrecorded_sessions');

/** Deletes the sessions of a batch of IDs, but not their successors. They have no index on their expiry. */
const deleteSessions: Statement<unknown> = (db) => {
  const expired = db
    .select({ applicationId: sessionIds.applicationId, userId: sessionIds.userId, id: sessionIds.id })
    .from(sessionIds)
    .where(isInBatch(sessionIds.expiresAt));
  const session = sql`(${sessions.applicationId}, ${sessions.userId}, ${sessions.id})`;
  return db.delete(sessions).where(inArray(session, expired)).prepare('delete_sessions');
};

interface ExpiringRows {
  /** Has an index. */
  readonly expiresAt: PgColumn;
  readonly graceMs: number;
  /** Whether the rows are kept as long as the log of deliveries, too. */
  readonly isLogged?: true;
  /** Deletes what depends on a batch of the rows. */
  readonly deleteDependents?: Statement<unknown>;
}

const EXPIRING: readonly ExpiringRows[] = [
  { expiresAt: loginCodes.expiresAt, graceMs: 0 },
  { expiresAt: walletChallenges.expiresAt, graceMs: 0 },
  { expiresAt: loginIntents.expiresAt, graceMs: INTENT_GRACE_MS },
  { expiresAt: sessionIds.expiresAt, graceMs: 0, deleteDependents: deleteSessions },
  { expiresAt: sessionCutoffs.expiresAt, graceMs: 0 },
  { expiresAt: userCutoffs.expiresAt, graceMs: 0 },
  { expiresAt: rateLimits.expiresAt, graceMs: 0 },
  { expiresAt: auditEvents.occurredAt, graceMs: AUDIT_RETENTION_MS },
  { expiresAt: knownOrigins.expiresAt, graceMs: 0 },
  { expiresAt: webhookSigningKeys.expiresAt, graceMs: 0 },
  { expiresAt: webhookAttempts.attemptedAt, graceMs: 0, isLogged: true },
  { expiresAt: webhookDeliveries.createdAt, graceMs: MESSAGE_GRACE_MS, isLogged: true },
  { expiresAt: webhookMessages.createdAt, graceMs: MESSAGE_GRACE_MS, isLogged: true },
];

const TABLES = EXPIRING.map((rows) => ({
  ...rows,
  selectBatchEnd: createSelectBatchEnd(rows.expiresAt),
  deleteBatch: createDeleteBatch(rows.expiresAt),
}));

export interface ExpiryOptions {
  readonly clock: () => Date;
  readonly signal: AbortSignal;
  /** How long deliveries are kept. */
  readonly webhookLogDays: number;
  onError(error: unknown): void;
}

/**
 * Removes expired rows about once a minute until the signal is aborted. Any number of replicas may run it:
 * of two that remove the same batch, one waits and finds it gone.
 */
export async function runExpiryJob(
  database: Database,
  { clock, signal, webhookLogDays, onError }: ExpiryOptions,
): Promise<void> {
  while (!signal.aborted) {
    await removeExpired(database, { now: clock(), signal, webhookLogDays }).catch(onError);
    // Jitter, so that replicas started together do not run together.
    await pause(INTERVAL_MS * (0.5 + Math.random()), signal);
  }
}

export interface RemovalOptions {
  readonly now: Date;
  readonly webhookLogDays: number;
  readonly signal?: AbortSignal;
}

/** Removes every expired row, in short batches with pauses. */
export async function removeExpired(
  database: Pick<Database, 'run'>,
  { now, webhookLogDays, signal }: RemovalOptions,
): Promise<void> {
  await database.run(deleteUnrecordedSessions, { now }, performance.now() + BATCH_TIMEOUT_MS);
  for (const { selectBatchEnd, deleteDependents, deleteBatch, graceMs, isLogged } of TABLES) {
    // Columns have whole milliseconds.
    const last = new Date(now.getTime() - graceMs - (isLogged ? webhookLogDays * DAY_MS : 0) - 1);
    let after = new Date(-1);
    for (let isMore = true; isMore; ) {
      const startedAt = performance.now();
      const deadline = startedAt + BATCH_TIMEOUT_MS;
      const [{ end } = { end: last }] = await database.run(selectBatchEnd, { after }, deadline);
      isMore = end < last;
      const batch = { after, until: isMore ? end : last };
      if (deleteDependents) await database.run(deleteDependents, batch, deadline);
      await database.run(deleteBatch, batch, deadline);
      // The next batch starts behind the dead rows, which have not been vacuumed.
      after = batch.until;
      if (isMore) await pause(PAUSE_FACTOR * (performance.now() - startedAt), signal);
      if (signal?.aborted) return;
    }
  }
}

/** Returns no row if less than a batch is left. The limit is part of the text, so that every plan reads one batch only. */
function createSelectBatchEnd(expiresAt: PgColumn): Statement<{ end: Date }[]> {
  return (db) =>
    db
      .select({ end: sql<Date>`${expiresAt}`.mapWith(sessions.expiresAt).as('end') })
      .from(expiresAt.table)
      .where(gt(expiresAt, instantPlaceholder('after')))
      .orderBy(sql`${expiresAt} offset ${sql.raw(String(BATCH_SIZE - 1))} limit 1`)
      .prepare('select_batch_end');
}

/** Returns a deletion by range, which needs no locks of its own and which Citus sends to every shard. */
function createDeleteBatch(expiresAt: PgColumn): Statement<unknown> {
  return (db) => db.delete(expiresAt.table).where(isInBatch(expiresAt)).prepare('delete_batch');
}

function isInBatch(expiresAt: PgColumn): SQL | undefined {
  return and(gt(expiresAt, instantPlaceholder('after')), lte(expiresAt, instantPlaceholder('until')));
}
