import { type SQL, sql } from 'drizzle-orm';
import { checkIns, scans } from '../../../database/schema/event-schema.ts';
import { columnsOf, nullable, p, type RowOfType, statement, t } from '../../../database/sql/template.ts';
import type { ApplicationCall } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { identifier } from '../../../domain/core/validation.ts';
import { attendeeColumns, selectCheckedInAt } from '../../../domain/events/attendee.ts';
import { isOpenEvent } from '../../../domain/events/event.ts';
import { createList, ofApplication } from '../../../domain/pages/list.ts';

/** How far attendees are counted, so that a page that asks again and again costs little. `getEventCounts` is exact. */
export const MAX_ATTENDEES_COUNTED = 5_000;
/** How many check-ins are drawn. */
export const MAX_CHECK_INS_DRAWN = 2_000;

/** Figures over time have about so many bars at most, each of one of these lengths. */
const MAX_BARS = 40;
const BAR_SECONDS = [60, 300, 900, 3_600, 10_800, 43_200, 86_400, 604_800, 2_592_000];

interface DoorFigures {
  /** Exact for an event with a capacity, else up to `MAX_ATTENDEES_COUNTED`. */
  readonly checkedIn: number;
  readonly isExact: boolean;
  readonly listed: number;
  readonly barSeconds: number | null;
  /** The newest check-ins by time and gate, oldest first. `at` is in seconds. The empty gate stands for none. */
  readonly drawn: readonly { readonly at: number; readonly gate: string; readonly count: number }[];
}

/** Returns how many have come, and when and where. @throws ServiceError `Event not found`, also for a deleted one */
export async function readDoorFigures({ run, application }: ApplicationCall, eventId: string): Promise<DoorFigures> {
  const [figures] = await run(selectFigures, { applicationId: application.id, eventId });
  if (!figures) throw new ServiceError('EVENT_NOT_FOUND');
  const { isCounted, ...rest } = figures;
  return { ...rest, isExact: isCounted || rest.checkedIn < MAX_ATTENDEES_COUNTED };
}

const FIGURES = {
  checkedIn: t.integer,
  isCounted: t.boolean,
  listed: t.integer,
  barSeconds: nullable(t.integer),
  drawn: t.json<DoorFigures['drawn']>(),
};

const ofEvent = sql`application_id = ${p.uuid('applicationId')} and event_id = ${p.text('eventId')}`;
const mostCounted = sql.raw(String(MAX_ATTENDEES_COUNTED));

const selectFigures = statement('select_door_figures', FIGURES)`
  with newest as (
    select extract(epoch from coalesce(occurred_at, checked_in_at))::bigint as came_at, coalesce(gate, '') as gate
    from check_ins where ${ofEvent}
    order by checked_in_at desc, attendee_id desc limit ${sql.raw(String(MAX_CHECK_INS_DRAWN))}
  ), bar as (
    select min(seconds) as seconds from unnest(array[${sql.raw(BAR_SECONDS.join(', '))}]) as seconds
    where seconds * ${sql.raw(String(MAX_BARS))} >= (select max(came_at) - min(came_at) from newest)
  ), drawn as (
    select came_at / seconds * seconds as at, gate, count(*)::integer as count
    from newest, bar where seconds is not null group by 1, 2
  )
  select checked_in is not null as is_counted,
    coalesce(checked_in, (select count(*)::integer from (
      select 1 from check_ins where ${ofEvent} limit ${mostCounted}) as came)) as checked_in,
    (select count(*)::integer from (
      select 1 from attendees where ${ofEvent} and not is_deleted limit ${mostCounted}) as known) as listed,
    (select seconds from bar) as bar_seconds,
    (select coalesce(json_agg(json_build_object('at', at, 'gate', gate, 'count', count) order by at), '[]')
      from drawn) as drawn
  from events where ${isOpenEvent}`;

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
  where ${ofEvent} and not is_deleted and ${condition} ${limit}`;

/** The upper bound is the prefix and as many of the last character as a label has characters. */
const selectFound = statement('select_found_attendees', FOUND)`
  select ${columnsOf(attendeeColumns, 'a')}, ${selectCheckedInAt}
  from (
    (${selectWhere(sql`attendee_id = ${p.text('attendeeId')}`, sql``)})
    union
    (${selectWhere(
      sql`${label} >= ${p.text('prefix')}
        -- Equivalent: comparison: no label is so long
        and ${label} <= ${p.text('prefix')} || repeat(chr(1114111), 100)`,
      sql`order by ${label}
        -- Equivalent: limit: the one at the end decides
        limit ${sql.raw(String(MAX_FOUND))}`,
    )})
  ) as a
  order by ${label}, attendee_id limit ${sql.raw(String(MAX_FOUND))}`;

const { scanId, attendeeId, outcome, reason, gate, occurredAt, receivedAt } = scans;

/**
 * Returns a page of an event's scans that were refused, or would have been if they did not say that the attendee is
 * inside. Only scans with an ID are kept.
 */
export const listRefusals = createList('select_refusals', {
  name: 'refusals',
  of: ofApplication,
  rules: { eventId: identifier },
  columns: { scanId, attendeeId, outcome, reason, gate, occurredAt, receivedAt },
  order: [receivedAt, scanId],
  where: sql`${ofEvent} and reason is not null`,
});
