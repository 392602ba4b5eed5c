import { sql } from 'drizzle-orm';
import { p, statement, t } from '../../database/sql/template.ts';
import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, identifier, type Unchecked } from '../core/validation.ts';
import { isOpenEvent } from './event.ts';

const rules = { eventId: identifier };

const MAX_GATES = sql.raw('1000');

interface EventCounts {
  readonly listed: number;
  readonly checkedIn: number;
  /** The gates with the most check-ins. Check-ins without a gate are at the gate with the empty name. */
  readonly gates: readonly { readonly gate: string; readonly checkedIn: number }[];
}

/** Counts the attendees of an event exactly. @throws ServiceError `Event not found`, also for a deleted one */
export async function getEventCounts(
  { application, run }: ApplicationCall,
  request: Unchecked<keyof typeof rules>,
): Promise<EventCounts> {
  const { eventId } = check(request, rules);
  const [counts] = await run(selectCounts, { applicationId: application.id, eventId });
  if (!counts) throw new ServiceError('EVENT_NOT_FOUND');
  return counts;
}

const COUNTS = { listed: t.integer, checkedIn: t.integer, gates: t.json<EventCounts['gates']>() };

const selectCounts = statement('select_event_counts', COUNTS)`
  with by_gate as (
    select coalesce(gate, '') as gate, count(*)::integer as came from check_ins
    where application_id = ${p.uuid('applicationId')} and event_id = ${p.text('eventId')}
    group by 1
  ), largest as (
    select gate, came from by_gate order by came desc, gate limit ${MAX_GATES}
  )
  select
    (select count(*)::integer from attendees where application_id = ${p.uuid('applicationId')}
      and event_id = ${p.text('eventId')} and not is_deleted) as listed,
    (select coalesce(sum(came), 0)::integer from by_gate) as checked_in,
    (select coalesce(json_agg(json_build_object('gate', gate, 'checkedIn', came) order by came desc, gate), '[]')
      from largest) as gates
  from events where ${isOpenEvent}`;
