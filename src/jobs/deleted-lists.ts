/** Marks the attendees of deleted events, so that they expire. A list may have 100,000: they are marked in batches. */
import { sql } from 'drizzle-orm';
import type { Run } from '../database/pool/database.ts';
import { events } from '../database/schema/event-schema.ts';
import { DAY_MS } from '../database/schema/table-facts.ts';
import { nullable, p, type RowOfType, statement, t } from '../database/sql/template.ts';
import { DELETED_EVENT_DAYS } from '../domain/events/attendee.ts';
import { pause } from '../pause.ts';
import { BATCH_SIZES, pauseAfterBatch } from './batch-pace.ts';

const [BATCH = 0] = BATCH_SIZES;

/** Events by their deletion. The events stay, so that their IDs are not used again. */
export const DELETED_LISTS = {
  expiresAt: events.deletedAt,
  graceMs: DELETED_EVENT_DAYS * DAY_MS,
  mark: 'deleted-lists',
  handleRows: markLists,
};

/** Marks the lists of the events that were deleted between two instants. */
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
