import { type SQL, sql } from 'drizzle-orm';
import { attendees } from '../../database/schema/event-schema.ts';
import { p } from '../../database/sql/template.ts';
import { pathIdentifier, text } from '../core/validation.ts';

export const MAX_ATTENDEES = 100_000;
/** How many attendees one call changes. */
export const MAX_CHANGED_ATTENDEES = 500;
/** How long a deleted attendee stays, so that copies learn of it. */
export const DELETED_DAYS = 14;

const { attendeeId, label, isBlocked, isDeleted, version, changedAt } = attendees;
export const attendeeColumns = { attendeeId, label, isBlocked, isDeleted, version, changedAt };

/**
 * Returns the subquery for the row of one attendee. For equalities, Postgres without statistics takes any index of the
 * event, and reads all of its rows each time. This order needs the primary key. The upper bound ends the look-up in the
 * middle of a page. It compares two columns, because between two plain bounds Postgres expects so few rows that an index
 * without the order seems as good.
 */
export const selectOneAttendee = (table: SQL, columns: SQL, attendeeId: SQL) => sql`(
  select attendee_id, ${columns} from ${table}
  where application_id = ${p.uuid('applicationId')} and event_id = ${p.text('eventId')} and attendee_id >= ${attendeeId}
    and (attendee_id, event_id) <= (${attendeeId}, ${p.text('eventId')})
  -- Equivalent: order, limit: there is one row at most
  order by attendee_id limit 1)`;

/** When the attendee `a` was checked in. Not a join: a generic plan would read all check-ins of the event. */
export const selectCheckedInAt = sql`
  (select checked_in_at from ${selectOneAttendee(sql`check_ins`, sql`checked_in_at`, sql`a.attendee_id`)} as came)
    as checked_in_at`;

/** `label` is what a scanner shows, such as a name. */
export const attendeeRules = { attendeeId: pathIdentifier, label: text({ min: 0, max: 100 }) };
