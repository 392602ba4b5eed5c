/** The expiry job removes expired rows, so that tables stay the size of what is live. */
import { getTableName, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { auditEvents } from '../database/audit-schema.ts';
import type { Database, Statement } from '../database/database.ts';
import { knownOrigins, loginCodes, rateLimits, walletChallenges } from '../database/login-schema.ts';
import { instantPlaceholder, loginIntents } from '../database/schema.ts';
import { sessionCutoffs, sessionIds, sessions, userCutoffs } from '../database/session-schema.ts';
import { webhookAttempts, webhookDeliveries, webhookMessages, webhookSigningKeys } from '../database/webhook-schema.ts';
import { pause } from '../domain/pause.ts';

const INTERVAL_MS = 60_000;
const BATCH_SIZE = 100;
const BATCH_TIMEOUT_MS = 5_000;

/** For an hour, a late login is answered `Login intent expired` instead of `Login intent not found`. */
const INTENT_GRACE_MS = 60 * 60_000;

const DAY_MS = 24 * 60 * 60_000;

/** How long the audit log is kept: a year, and what a yearly review takes. */
const AUDIT_RETENTION_MS = 400 * DAY_MS;

const WEBHOOK_LOG_DAYS = 14;

/** Messages outlive their log by the length of the retry schedule, for those that are delivered again at its end. */
const MESSAGE_GRACE_MS = 4 * DAY_MS;

interface RemovedBatch {
  readonly count: number;
  /** The latest expiry among the removed rows. */
  readonly latest: Date | null;
}

/** Deletes expired sessions of replicas of the version before, which has no `session_ids`. */
const deleteUnrecorded: Statement<RemovedBatch[]> = (db) =>
  db
    .delete(sessions)
    .where(sql`${sessions.method} = '' and ${sessions.expiresAt} < ${instantPlaceholder('before')}`)
    .returning({ count: sql<number>`1`, latest: sql<null>`null` })
    .prepare('delete_unrecorded_sessions');

interface ExpiringTable {
  readonly table: string;
  readonly deleteBatch: Statement<RemovedBatch[]>;
  readonly graceMs: number;
  /** Whether the rows are kept as long as the log of deliveries, too. */
  readonly isLogged?: true;
}

const TABLES: readonly ExpiringTable[] = [
  { ...expire(loginCodes.expiresAt), graceMs: 0 },
  { ...expire(walletChallenges.expiresAt), graceMs: 0 },
  { ...expire(loginIntents.expiresAt), graceMs: INTENT_GRACE_MS },
  { ...expire(sessionIds.expiresAt, deleteSessions), graceMs: 0 },
  { table: 'sessions', deleteBatch: deleteUnrecorded, graceMs: 0 },
  { ...expire(sessionCutoffs.expiresAt), graceMs: 0 },
  { ...expire(userCutoffs.expiresAt), graceMs: 0 },
  { ...expire(rateLimits.expiresAt), graceMs: 0 },
  { ...expire(auditEvents.occurredAt), graceMs: AUDIT_RETENTION_MS },
  { ...expire(knownOrigins.expiresAt), graceMs: 0 },
  { ...expire(webhookSigningKeys.expiresAt), graceMs: 0 },
  { ...expire(webhookAttempts.attemptedAt), graceMs: 0, isLogged: true },
  { ...expire(webhookDeliveries.createdAt), graceMs: MESSAGE_GRACE_MS, isLogged: true },
  { ...expire(webhookMessages.createdAt), graceMs: MESSAGE_GRACE_MS, isLogged: true },
];

export interface ExpiryOptions {
  readonly clock: () => Date;
  readonly signal: AbortSignal;
  /** How long deliveries are kept. */
  readonly webhookLogDays?: number;
  readonly onRemoved?: ((table: string, count: number) => void) | undefined;
  onError(error: unknown): void;
}

type RemovalOptions = Partial<Pick<ExpiryOptions, 'signal' | 'webhookLogDays' | 'onRemoved'>>;

/**
 * Removes expired rows about once a minute until the signal is aborted. Any number of replicas may run it:
 * each skips the rows that another is removing.
 */
export async function runExpiryJob(
  database: Database,
  { clock, signal, onError, ...options }: ExpiryOptions,
): Promise<void> {
  while (!signal.aborted) {
    await removeExpired(database, clock(), { signal, ...options }).catch(onError);
    // Jitter, so that replicas started together do not run together.
    await pause(INTERVAL_MS * (0.5 + Math.random()), signal);
  }
}

/**
 * Removes every expired row, in short batches with pauses as long, so that Postgres has at least half of its
 * time for calls.
 */
export async function removeExpired(
  database: Pick<Database, 'run'>,
  now: Date,
  { signal, webhookLogDays = WEBHOOK_LOG_DAYS, onRemoved }: RemovalOptions = {},
): Promise<void> {
  for (const { table, deleteBatch, graceMs, isLogged } of TABLES) {
    const before = new Date(now.getTime() - graceMs - (isLogged ? webhookLogDays * DAY_MS : 0));
    let since = new Date(0);
    for (let isMore = true; isMore; ) {
      const startedAt = performance.now();
      const rows = await database.run(deleteBatch, { since, before }, startedAt + BATCH_TIMEOUT_MS);
      onRemoved?.(
        table,
        rows.reduce((sum, { count }) => sum + count, 0),
      );
      const [removed] = rows;
      // The next batch starts behind the dead rows, which have not been vacuumed.
      since = removed?.latest ?? since;
      isMore = removed?.count === BATCH_SIZE;
      if (isMore) await pause(performance.now() - startedAt, signal);
      if (signal?.aborted) return;
    }
  }
}

/** Deletes a batch of the rows that expired from `since` until before `before`, the oldest first. */
function expire(
  expiresAt: PgColumn,
  deleteMore?: (removed: SQLWrapper) => SQL,
): Pick<ExpiringTable, 'table' | 'deleteBatch'> {
  const { table, name } = expiresAt;
  // Every plan reads one batch only: the limit is part of the text, `ctid` finds the rows, and the lower bound is a
  // row comparison, because Postgres estimates a range between two parameters as almost empty.
  const expired = sql`
    select ctid from ${table}
    where (${expiresAt}, 0) >= (${instantPlaceholder('since')}, 0) and ${expiresAt} < ${instantPlaceholder('before')}
    order by ${expiresAt} limit ${sql.raw(String(BATCH_SIZE))} for update skip locked`;
  const deleteExpired: Statement<RemovedBatch[]> = (db) => {
    const removed = db.$with('removed').as(db.delete(table).where(sql`ctid = any(array(${expired}))`).returning());
    const more = deleteMore ? [db.$with('more', {}).as(deleteMore(removed))] : [];
    return db
      .with(removed, ...more)
      .select({
        count: sql<number>`count(*)::int`,
        latest: sql<Date | null>`max(${sql.identifier(name)})`.mapWith((instant: string) => new Date(instant)),
      })
      .from(removed)
      .prepare('delete_expired');
  };
  return { table: getTableName(table), deleteBatch: deleteExpired };
}

/** Deletes the sessions that have not been renewed. They have no index on their expiry. */
function deleteSessions(removed: SQLWrapper): SQL {
  return sql`
    delete from ${sessions} using ${removed} as removed_id
    where ${sessions.applicationId} = removed_id.application_id and ${sessions.userId} = removed_id.user_id
      and ${sessions.id} = removed_id.id`;
}
