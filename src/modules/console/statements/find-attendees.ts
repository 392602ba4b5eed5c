import { type SQL, sql } from 'drizzle-orm';
import { checkIns } from '../../../database/schema/event-schema.ts';
import { columnsOf, p, type RowOfType, statement } from '../../../database/sql/template.ts';
import type { ApplicationCall } from '../../../domain/core/call.ts';
import { attendeeColumns, selectCheckedInAt } from '../../../domain/events/attendee.ts';

/** How many attendees a search finds. */
export const MAX_FOUND = 50;

const FOUND = { ...attendeeColumns, checkedInAt: checkIns.checkedInAt };

export type FoundAttendee = RowOfType<typeof FOUND>;

/** Returns the listed attendees with this ID, or whose label begins with the text, in any case. */
export function findAttendees(
  { application, run }: ApplicationCall,
  eventId: string,
  text: string,
): Promise<readonly FoundAttendee[]> {
  return run(selectFound, { applicationId: application.id, eventId, attendeeId: text, prefix: text.toLowerCase() });
}

const label = sql`(lower(label) collate "C")`;

const selectWhere = (condition: SQL, limit: SQL) => sql`
  select ${columnsOf(attendeeColumns)} from attendees
  where application_id = ${p.uuid('applicationId')} and event_id = ${p.text('eventId')} and not is_deleted
    and ${condition} ${limit}`;

/** The upper bound is the prefix and as many of the last character as a label has characters. */
const selectFound = statement('select_found_attendees', FOUND)`
  select ${columnsOf(attendeeColumns, 'a')}, ${selectCheckedInAt}
  from (
    (${selectWhere(sql`attendee_id = ${p.text('attendeeId')}`, sql``)})
    union
    (${selectWhere(
      sql`${label} >= ${p.text('prefix')} and ${label} <= ${p.text('prefix')} || repeat(chr(1114111), 100)`,
      sql`order by ${label} limit ${sql.raw(String(MAX_FOUND))}`,
    )})
  ) as a
  order by ${label}, attendee_id limit ${sql.raw(String(MAX_FOUND))}`;
