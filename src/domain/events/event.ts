import { sql } from 'drizzle-orm';
import type { RowOf } from '../../database/database.ts';
import { events } from '../../database/event-schema.ts';
import { p } from '../../database/template.ts';
import { jsonObject, toIsoText } from '../outbox/insert-message.ts';

export const eventColumns = { eventId: events.id, name: events.name, createdAt: events.createdAt };

export type Event = RowOf<typeof eventColumns>;

/** The fields of a message about an event, from columns of `events`. An event without a name has no `name`. */
export const eventFields = { eventId: sql`id`, name: sql`name`, createdAt: toIsoText(sql`created_at`) };

/** The data of a message about a new event. */
export const eventData = jsonObject(eventFields);

/** A collision is harmless: two events with the same key wait for each other. */
const lockKey = sql`hashtextextended(application_id::text || id, 0)`;

/**
 * Conditions that are always true, and take an advisory lock of the event until the transaction commits. With row locks
 * alone, a stream of check-ins could starve a delete.
 */
export const eventLock = {
  shared: sql`pg_advisory_xact_lock_shared(${lockKey}) is not null`,
  exclusive: sql`pg_advisory_xact_lock(${lockKey}) is not null`,
};

/** The condition that an event has the given ID and is not deleted. Parameters: applicationId, eventId. */
export const isOpenEvent = sql`
  application_id = ${p.uuid('applicationId')} and id = ${p.text('eventId')} and deleted_at is null`;

/** Selects the event unless it is deleted, and keeps it from being deleted until the transaction commits. */
export const shareEvent = sql`
  select application_id, id from events where ${isOpenEvent} and ${eventLock.shared} for share`;

/** How the audit log names a check-in: event ID and attendee ID. */
export const checkInResource = sql`concat_ws('/', ${p.text('eventId')}, ${p.text('attendeeId')})`;
