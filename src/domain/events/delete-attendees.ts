import { sql } from 'drizzle-orm';
import { DAY_MS } from '../../database/schema/table-facts.ts';
import { p, statement } from '../../database/sql/template.ts';
import type { TransactionalCall } from '../core/call.ts';
import { check, identifier, listOf, type Unchecked } from '../core/validation.ts';
import { DELETED_DAYS, MAX_CHANGED_ATTENDEES } from './attendee.ts';
import { storeNewestVersion, withLockedEvent } from './lock-event.ts';

const rules = { eventId: identifier, attendeeIds: listOf(identifier, { min: 1, max: MAX_CHANGED_ATTENDEES }) };

/**
 * Removes attendees from the list of an event, with their labels. Their check-ins stay. IDs that are not listed have no
 * effect.
 *
 * @throws ServiceError `Event not found`, also for a deleted one
 */
export async function deleteAttendees(call: TransactionalCall, request: Unchecked<keyof typeof rules>): Promise<void> {
  const { eventId, attendeeIds } = check(request, rules);
  const removedAt = new Date(call.now.getTime() + DELETED_DAYS * DAY_MS);
  await withLockedEvent(call, eventId, (run, { attendeeVersion }, ids) =>
    run(markDeleted, { ...ids, attendeeIds, removedAt, attendeeVersion }),
  );
}

const markDeleted = statement('mark_attendees_deleted')`
  with listed as (
    select attendee_id, ${p.bigint('attendeeVersion')} + row_number() over (order by attendee_id) as version
    from attendees
    where application_id = ${p.uuid('applicationId')} and event_id = ${p.text('eventId')} and not is_deleted
      and attendee_id = any(${p.texts('attendeeIds')})
  ), deleted as (
    update attendees a set is_deleted = true, label = '', is_blocked = false, version = listed.version,
      changed_at = ${p.instant('now')}, removed_at = ${p.instant('removedAt')}
    from listed
    where a.application_id = ${p.uuid('applicationId')} and a.event_id = ${p.text('eventId')}
      and a.attendee_id = listed.attendee_id
    returning a.version
  ), ${storeNewestVersion(sql`deleted`)}`;
