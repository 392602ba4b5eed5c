import { sql } from 'drizzle-orm';
import { p, statement, t } from '../../database/sql/template.ts';
import type { TransactionalCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { boolean, check, identifier, listOf, objectOf, orDefault, type Unchecked } from '../core/validation.ts';
import { attendeeRules, MAX_ATTENDEES, MAX_CHANGED_ATTENDEES } from './attendee.ts';
import { storeNewestVersion, withLockedEvent } from './lock-event.ts';

const { attendeeId, label } = attendeeRules;
const attendee = objectOf({ attendeeId, label: orDefault(label, ''), isBlocked: orDefault(boolean, false) });
const rules = { eventId: identifier, attendees: listOf(attendee, { min: 1, max: MAX_CHANGED_ATTENDEES }) };

/**
 * Lists attendees for an event, or changes those that are listed. Of an attendee who comes twice, the last one counts.
 * Attendees who stay as they are get no new version.
 *
 * @throws ServiceError `Event not found`, also for a deleted one; `Too many attendees`
 */
export async function batchPutAttendees(
  call: TransactionalCall,
  request: Unchecked<keyof typeof rules>,
): Promise<void> {
  const { eventId, ...given } = check(request, rules);
  const attendees = [...new Map(given.attendees.map((each) => [each.attendeeId, each])).values()];
  const attendeeIds = attendees.map((each) => each.attendeeId);
  await withLockedEvent(call, eventId, async (run, { attendeeVersion }, ids) => {
    const [others] = await run(countOthers, { ...ids, attendeeIds });
    if ((others?.count ?? 0) + attendees.length > MAX_ATTENDEES) throw new ServiceError('TOO_MANY_ATTENDEES');
    const rows = attendees.map((each, at) => ({
      attendee_id: each.attendeeId,
      label: each.label,
      is_blocked: each.isBlocked,
      version: attendeeVersion + at + 1,
    }));
    await run(putAttendees, { ...ids, rows });
  });
}

const countOthers = statement('count_other_attendees', { count: t.integer })`
  select count(*)::integer as count from attendees
  where application_id = ${p.uuid('applicationId')} and event_id = ${p.text('eventId')} and not is_deleted
    and attendee_id <> all(${p.texts('attendeeIds')})`;

const putAttendees = statement('put_attendees')`
  with put as (
    insert into attendees as a (application_id, event_id, attendee_id, label, is_blocked, version, changed_at)
    select ${p.uuid('applicationId')}, ${p.text('eventId')}, attendee_id, label, is_blocked, version, ${p.instant('now')}
    from json_to_recordset(${p.json('rows')})
      as given (attendee_id text, label text, is_blocked boolean, version bigint)
    on conflict (application_id, event_id, attendee_id) do update set
      label = excluded.label, is_blocked = excluded.is_blocked, is_deleted = false, removed_at = null,
      version = excluded.version, changed_at = excluded.changed_at
      where (a.label, a.is_blocked, a.is_deleted) is distinct from (excluded.label, excluded.is_blocked, false)
    returning version
  ), ${storeNewestVersion(sql`put`)}`;
