import { sql } from 'drizzle-orm';
import type { RowOf } from '../../database/pool/database.ts';
import { ADMISSIONS, events } from '../../database/schema/event-schema.ts';
import { p } from '../../database/sql/template.ts';
import { invalidField } from '../core/errors.ts';
import { identifier, integer, oneOf, optional, timestamp } from '../core/validation.ts';
import { jsonObject, toIsoText } from '../outbox/insert-message.ts';

const { name, startsAt, endsAt, capacity, admission } = events;

/** What an update can change. */
export const changeableColumns = { name, startsAt, endsAt, capacity, admission };
export const eventColumns = { eventId: events.id, ...changeableColumns, createdAt: events.createdAt };

export type Event = RowOf<typeof eventColumns>;

const MAX_CAPACITY = 1_000_000;

export const changeableRules = {
  name: optional(identifier),
  startsAt: optional(timestamp),
  endsAt: optional(timestamp),
  capacity: optional(integer({ min: 1, max: MAX_CAPACITY })),
  admission: optional(oneOf(ADMISSIONS)),
};

/** @throws ServiceError `Validation failed` for an event that ends before it starts */
export function requireWindow({ startsAt, endsAt }: Partial<Pick<Event, 'startsAt' | 'endsAt'>>): void {
  if (startsAt && endsAt && endsAt <= startsAt) throw invalidField('endsAt', 'must be later than startsAt');
}

/** The fields of a message about an event, from columns of `events`. Null fields are left out. */
export const eventFields = {
  eventId: sql`id`,
  name: sql`name`,
  createdAt: toIsoText(sql`created_at`),
  startsAt: toIsoText(sql`starts_at`),
  endsAt: toIsoText(sql`ends_at`),
  capacity: sql`capacity`,
  admission: sql`admission`,
};

/** The data of a message about an event. */
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

/**
 * Selects the event unless it is deleted or has rules, and keeps it so until the transaction commits. Check-ins to an
 * event without rules run side by side. Those to the others follow one another: see `lock-event.ts`.
 */
export const shareEventWithoutRules = sql`
  select application_id, id from events
  where ${isOpenEvent} and starts_at is null and ends_at is null and capacity is null
    and (admission = 'LISTED') is not true and attendee_version = 0 and ${eventLock.shared} for share`;

/** How the audit log names a check-in: event ID and attendee ID. */
export const checkInResource = sql`concat_ws('/', ${p.text('eventId')}, ${p.text('attendeeId')})`;
