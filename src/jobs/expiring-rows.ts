/** The rows that the expiry job removes, as the schema of each table says, and the sizes and pauses of its batches. */
import { and, gt, lte, type SQL, sql } from 'drizzle-orm';
import type { Run, Statement } from '../database/pool/database.ts';
import { events } from '../database/schema/event-schema.ts';
import { loginIntents } from '../database/schema/intent-schema.ts';
import { sessionIds } from '../database/schema/session-schema.ts';
import { DAY_MS, type ExpiringRows } from '../database/schema/table-facts.ts';
import { TABLES } from '../database/schema/tables.ts';
import { nullable, p, type RowOfType, statement, t } from '../database/sql/template.ts';
import { ownApplicationIds } from '../domain/core/own-applications.ts';
import { pause } from '../pause.ts';

/**
 * Rows per batch. There are only a few sizes, because each has its own prepared statement. A run begins with the first.
 */
export const BATCH_SIZES: readonly number[] = [500, 1_000, 2_000, 4_000];

/** After a quicker batch the next one is larger. */
const QUICK_MS = 50;
/** After a slower batch, which delays other statements, the next one is smaller. */
const SLOW_MS = 100;

/** 30,000 rows a second: more than the 23,000 that 10^9 logins a day leave. */
const MAX_ROWS_PER_MS = 30;

/**
 * Returns the size of the next batch. On a busy server small batches mostly wait; with a cold cache large ones are
 * slow.
 */
export function nextBatchSize(size: number, elapsedMs: number): number {
  const index = BATCH_SIZES.indexOf(size) + (elapsedMs < QUICK_MS ? 1 : elapsedMs > SLOW_MS ? -1 : 0);
  return BATCH_SIZES[Math.max(0, index)] ?? size;
}

/**
 * Returns a pause in milliseconds, at least as long as the batch, so that the job uses a connection at most half of the
 * time.
 */
export function pauseAfterBatch(size: number, elapsedMs: number): number {
  return Math.max(elapsedMs, size / MAX_ROWS_PER_MS - elapsedMs);
}

const [BATCH = 0] = BATCH_SIZES;

/** How long the attendees of a deleted event stay. */
const DELETED_EVENT_DAYS = 30;

/** Events by their deletion. The events stay, so that their IDs are not used again. */
const DELETED_LISTS = {
  expiresAt: events.deletedAt,
  graceMs: DELETED_EVENT_DAYS * DAY_MS,
  mark: 'deleted-lists',
  handleRows: markLists,
};

/** Marks the attendees of events that were deleted between two instants, so that they expire. A list may have 100,000. */
async function markLists(
  run: Run,
  { after, until }: { readonly after: Date; readonly until: Date },
  signal: AbortSignal | undefined,
): Promise<void> {
  // Parts have an instant each: rows with the same one are deleted in one batch.
  let parts = 0;
  for (const ids of await run(selectDeletedLists, { after, until })) {
    for (let last: string | null = ''; last !== null && !signal?.aborted; ) {
      const startedAt = performance.now();
      const removedAt = new Date(until.getTime() + parts++);
      const [part]: RowOfType<typeof PART>[] = await run(markPart, { ...ids, last, removedAt });
      last = part?.count === BATCH ? part.last : null;
      await pause(pauseAfterBatch(BATCH, performance.now() - startedAt), signal);
    }
  }
}

/** Most deleted events never had a list. */
const selectDeletedLists = statement('select_deleted_lists', {
  applicationId: events.applicationId,
  eventId: events.id,
})`
  select application_id, id as event_id from events
  where deleted_at > ${p.instant('after')} and deleted_at <= ${p.instant('until')} and attendee_version > 0`;

const PART = { count: t.integer, last: nullable(t.text) };

/**
 * An insert, whose conflict always uses the primary key: an update or delete, planned for all events, reads the whole
 * list each time. A row that another replica has just removed comes back marked, and is removed again.
 */
const markPart = statement('mark_deleted_list_part', PART)`
  with part as (
    select attendee_id from attendees
    where application_id = ${p.uuid('applicationId')} and event_id = ${p.text('eventId')}
      and attendee_id > ${p.text('last')}
    order by attendee_id limit ${sql.raw(String(BATCH))}
  ), marked as (
    insert into attendees (application_id, event_id, attendee_id, label, is_blocked, version, changed_at, removed_at)
    select ${p.uuid('applicationId')}, ${p.text('eventId')}, attendee_id, '', false, 0, ${p.instant('removedAt')},
      ${p.instant('removedAt')}
    from part
    on conflict (application_id, event_id, attendee_id) do update set removed_at = excluded.removed_at
  )
  select count(*)::integer as count, max(attendee_id) as last from part`;

/**
 * Deletes the sessions of a batch of `session_ids`, but not their successors. `sessions` has no index on the expiry.
 */
const deleteSessions = statement('delete_sessions')`
  delete from sessions where (application_id, user_id, id) in (
    select application_id, user_id, id from session_ids
    where kept_until > ${p.instant('after')} and kept_until <= ${p.instant('until')})`;

/** Anybody can begin a login of OpenID Connect or of the account page, and fill its row. So the row goes with the login. */
const isAbandoned = sql`${loginIntents.completedAt} is null and (${loginIntents.responseMode} <> '' or
    ${loginIntents.applicationId} in ${ownApplicationIds})`;

const ABANDONED: ExpiringRows = { expiresAt: loginIntents.expiresAt, only: isAbandoned, mark: 'abandoned-logins' };

interface RemovedRows extends ExpiringRows {
  /** Deletes the rows of other tables that belong to the rows of a batch. */
  readonly deleteDependents?: Statement<unknown>;
  /** Replaces the deletion of the rows of a batch, which stay. */
  readonly handleRows?: (run: Run, batch: Batch, signal: AbortSignal | undefined) => Promise<void>;
}

/** Excludes the first instant, and includes the last. */
interface Batch {
  readonly after: Date;
  readonly until: Date;
}

export const EXPIRING: readonly RemovedRows[] = TABLES.flatMap(({ table, expires }): readonly RemovedRows[] => {
  if (table === loginIntents) return [ABANDONED, ...expires];
  if (table === sessionIds) return expires.map((rows) => ({ ...rows, deleteDependents: deleteSessions }));
  return table === events ? [DELETED_LISTS, ...expires] : expires;
});

/** Selects rows that expire after the parameter `after`, up to and including `until`. */
export function isInBatch({ expiresAt, only }: Pick<ExpiringRows, 'expiresAt' | 'only'>): SQL | undefined {
  return and(gt(expiresAt, p.instant('after')), lte(expiresAt, p.instant('until')), only);
}
