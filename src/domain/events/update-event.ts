import { sql } from 'drizzle-orm';
import { columnsOf, p, statement, t } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../core/call.ts';
import {
  changedValues,
  changeParameters,
  changes,
  createVersionReader,
  hasExpectedVersion,
  requireExpected,
  versionParameter,
} from '../core/changes.ts';
import { invalidField, ServiceError } from '../core/errors.ts';
import { check, identifier, type Unchecked } from '../core/validation.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../outbox/insert-message.ts';
import {
  changeableColumns,
  changeableRules,
  type Event,
  eventColumns,
  eventData,
  eventLock,
  isOpenEvent,
} from './event.ts';

const rules = { eventId: identifier, ...changes(changeableRules) };

/**
 * Changes an event and returns it. Check-ins that are there already stay, also beyond a new capacity or window.
 *
 * @throws ServiceError `Event not found`, also for a deleted one; `Changed meanwhile`; `Validation failed` for an event
 * that would end before it starts
 */
export async function updateEvent(call: ApplicationCall, request: Unchecked<keyof typeof rules>): Promise<Event> {
  const { application, run, now, onMessage } = call;
  const { eventId, ...given } = check(request, rules);
  const ids = { applicationId: application.id, eventId };
  const [updated] = await run(updateChanged, { ...ids, now, ...versionParameter(call), ...changeParameters(given) });
  if (!updated) throw new ServiceError('EVENT_NOT_FOUND');
  requireExpected(updated);
  if (!updated.hasWindow) throw invalidField('endsAt', 'must be later than startsAt');
  announce(onMessage, updated);
  return updated.event;
}

/** A new capacity counts the check-ins at the next check-in: see `lock-event.ts`. */
const updateChanged = statement('update_event', {
  event: eventColumns,
  hasWindow: t.boolean,
  isExpected: t.boolean,
  ...HAS_MESSAGES,
})`
  with locked as (
    -- A CTE of its own: the condition of an update must not call a volatile function.
    select id, created_at, ${columnsOf(changeableColumns)}, checked_in from events
    where ${isOpenEvent} and ${eventLock.exclusive} for no key update
  ), wanted as (
    select id, created_at, checked_in, ${changedValues(changeableColumns)}, ${hasExpectedVersion(changeableColumns)} as is_expected
    from locked
  ), checked as (
    select *, coalesce(ends_at > starts_at, true) as has_window from wanted
  ), changed as (
    update events e set (${columnsOf(changeableColumns)}, checked_in) = row(${columnsOf(changeableColumns, 'w')},
      case when w.capacity is not null then e.checked_in end)
    from checked w
    where e.application_id = ${p.uuid('applicationId')} and e.id = w.id and w.is_expected and w.has_window
      and row(${columnsOf(changeableColumns, 'e')}) is distinct from row(${columnsOf(changeableColumns, 'w')})
    returning e.id, e.created_at, ${columnsOf(changeableColumns, 'e')}
  ), ${auditEvent({ resource: sql`id`, from: sql`changed` })},
  ${messagesOf({ type: 'event.updated', data: eventData, from: sql`changed` })}
  select ${columnsOf(eventColumns)}, has_window, is_expected, ${notified} from checked`;

const readVersion = createVersionReader('select_event_version', changeableColumns, sql`events where ${isOpenEvent}`);

/** Returns the version for `ifVersion` of a later `updateEvent`, or undefined if there is no such event. */
export function readEventVersion(call: ApplicationCall, request: Unchecked<'eventId'>): Promise<string | undefined> {
  const { eventId } = check(request, { eventId: identifier });
  return readVersion(call, { applicationId: call.application.id, eventId });
}
