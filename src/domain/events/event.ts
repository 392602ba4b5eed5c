import { and, eq, isNull, type SQL, sql } from 'drizzle-orm';
import type { Db, RowOf } from '../../database/database.ts';
import { events } from '../../database/schema.ts';
import { jsonObject, toIsoText } from '../webhooks/insert-message.ts';

export const eventColumns = { eventId: events.id, name: events.name, createdAt: events.createdAt };

export type Event = RowOf<typeof eventColumns>;

/** Returns the data of a message about the event in the CTE. An event without a name has no `name`. */
export function eventData(cte: 'created' | 'deleted', more: Readonly<Record<string, SQL>> = {}): SQL {
  const row = sql.identifier(cte);
  const fields = { eventId: sql`${row}.id`, name: sql`${row}.name`, createdAt: toIsoText(sql`${row}.created_at`) };
  return jsonObject({ ...fields, ...more });
}

/** Two events whose keys collide wait for each other, and nothing else. */
const lockKey = sql`hashtextextended(${events.applicationId}::text || ${events.id}, 0)`;

/**
 * Conditions, always true, that take an advisory lock of the event until the transaction commits. Row locks
 * alone let a stream of shared lockers starve the exclusive one.
 */
export const eventLock = {
  shared: sql`pg_advisory_xact_lock_shared(${lockKey}) is not null`,
  exclusive: sql`pg_advisory_xact_lock(${lockKey}) is not null`,
};

/** Selects the open event and keeps it from being deleted until the transaction commits. */
export function selectAndShareEvent(db: Db) {
  return db
    .select({ applicationId: events.applicationId, eventId: events.id })
    .from(events)
    .where(isOpenEvent(eventLock.shared))
    .for('share');
}

/** Selects the event of the application that is not deleted. Placeholders: applicationId, eventId. */
export function isOpenEvent(lock?: SQL): SQL | undefined {
  return and(
    eq(events.applicationId, sql.placeholder('applicationId')),
    eq(events.id, sql.placeholder('eventId')),
    isNull(events.deletedAt),
    lock,
  );
}

/** How the audit log names a check-in: event ID and attendee ID. */
export const checkInResource = sql`concat_ws('/', ${sql.placeholder('eventId')}::text, ${sql.placeholder('attendeeId')}::text)`;
