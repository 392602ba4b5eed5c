import { type SQL, sql } from 'drizzle-orm';
import { events } from '../../db/schema.ts';

/**
 * Conditions of a statement's events, always true, for which those who admit somebody to an event queue with
 * who deletes it, until they commit. Row locks alone keep no order: each newcomer shares what others
 * share, and who wants the event to himself waits for as long as newcomers come.
 */
export const turns = {
  /** For as many as come before somebody who queues for `alone`. */
  shared: sql`pg_advisory_xact_lock_shared(${keyOf(events)}) is not null`,
  alone: sql`pg_advisory_xact_lock(${keyOf(events)}) is not null`,
};

/** Two events that happen to have the same only queue together. */
function keyOf({ applicationId, id }: typeof events): SQL {
  return sql`hashtextextended(${applicationId}::text || ${id}, 0)`;
}
