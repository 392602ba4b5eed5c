import { and, eq, isNull, type SQL, sql } from 'drizzle-orm';
import { events } from '../../database/schema.ts';

/** Two events that happen to have the same only queue together. */
const lockKey = sql`hashtextextended(${events.applicationId}::text || ${events.id}, 0)`;

/**
 * Conditions, always true, for which those who admit somebody to an event queue with who deletes it, until
 * they commit. Row locks alone keep no order: each newcomer shares what others share, and who wants the
 * event to himself waits for as long as newcomers come.
 */
export const eventLock = {
  /** For as many as come before somebody who queues for the exclusive one. */
  shared: sql`pg_advisory_xact_lock_shared(${lockKey}) is not null`,
  exclusive: sql`pg_advisory_xact_lock(${lockKey}) is not null`,
};

/** The application's event, not deleted, once the lock is held; with the placeholders applicationId and eventId. */
export function isOpenEvent(lock: SQL): SQL | undefined {
  return and(
    eq(events.applicationId, sql.placeholder('applicationId')),
    eq(events.id, sql.placeholder('eventId')),
    isNull(events.deletedAt),
    lock,
  );
}
