import { sql } from 'drizzle-orm';
import type { RowOf } from '../../database/database.ts';
import { events } from '../../database/event-schema.ts';
import { p } from '../../database/template.ts';
import { jsonObject, toIsoText } from '../webhooks/insert-message.ts';

export const eventColumns = { eventId: events.id, name: events.name, createdAt: events.createdAt };

export type Event = RowOf<typeof eventColumns>;

/** The fields of a message about the event in a row. An event without a name has no `name`. */
export const eventFields = { eventId: sql`id`, name: sql`name`, createdAt: toIsoText(sql`created_at`) };

/** The data of a message about a new event. */
export const eventData = jsonObject(eventFields);

/** Two events whose keys collide wait for each other, and nothing else. */
const lockKey = sql`hashtextextended(application_id::text || id, 0)`;

/**
 * Conditions, always true, that take an advisory lock of the event until the transaction commits. Row locks
 * alone let a stream of shared lockers starve the exclusive one.
 */
export const eventLock = {
  shared: sql`pg_advisory_xact_lock_shared(${lockKey}) is not null`,
  exclusive: sql`pg_advisory_xact_lock(${lockKey}) is not null`,
};

/** Selects the event of the application that is not deleted. Parameters: applicationId, eventId. */
export const isOpenEvent = sql`
  application_id = ${p.uuid('applicationId')} and id = ${p.text('eventId')} and deleted_at is null`;

/** Selects the open event and keeps it from being deleted until the transaction commits. */
export const shareEvent = sql`
  select application_id, id from events where ${isOpenEvent} and ${eventLock.shared} for share`;

/** How the audit log names a check-in: event ID and attendee ID. */
export const checkInResource = sql`concat_ws('/', ${p.text('eventId')}, ${p.text('attendeeId')})`;
