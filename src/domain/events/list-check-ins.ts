import { sql } from 'drizzle-orm';
import { checkIns } from '../../database/schema/event-schema.ts';
import { nullable, p, t } from '../../database/sql/template.ts';
import { identifier } from '../core/validation.ts';
import { createList, ofApplication } from '../pages/list.ts';
import { selectOneAttendee } from './attendee.ts';
import { isOpenEvent } from './event.ts';
import { getEvent } from './get-event.ts';

const { attendeeId, checkedInAt, occurredAt, gate } = checkIns;

const ofOpenEvent = sql`application_id = ${p.uuid('applicationId')} and event_id = ${p.text('eventId')}
  and exists (select 1 from events where ${isOpenEvent})`;

/** Returns a page of an event's check-ins. @throws ServiceError `Event not found`, also for a deleted one */
export const listCheckIns = createList('select_check_ins', {
  name: 'check-ins',
  of: ofApplication,
  rules: { eventId: identifier },
  columns: { attendeeId, checkedInAt, occurredAt, gate },
  order: [checkedInAt, attendeeId],
  where: ofOpenEvent,
  requireParent: getEvent,
});

/**
 * The same for a download, with the names of the attendees. `reason` says why somebody whom a scanner had let in would
 * have been refused. The scan says so, for 14 days, and has come at the time of its check-in.
 */
export const listCheckInsToDownload = createList('select_check_ins_to_download', {
  name: 'check-ins to download',
  of: ofApplication,
  rules: { eventId: identifier },
  columns: { attendeeId, checkedInAt, occurredAt, gate, label: nullable(t.text), reason: nullable(t.text) },
  select: sql`check_ins.attendee_id, checked_in_at, occurred_at, gate,
    (select label from ${selectOneAttendee(sql`attendees`, sql`label, is_deleted`, sql`check_ins.attendee_id`)} as listed
      where not is_deleted) as label,
    (select s.reason from scans s
      where s.application_id = ${p.uuid('applicationId')} and s.event_id = ${p.text('eventId')}
        and s.received_at = check_ins.checked_in_at and s.attendee_id = check_ins.attendee_id
        and s.outcome = 'CHECKED_IN' and s.reason is not null limit 1) as reason`,
  order: [checkedInAt, attendeeId],
  where: ofOpenEvent,
  requireParent: getEvent,
});
