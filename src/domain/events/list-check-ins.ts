import { sql } from 'drizzle-orm';
import { checkIns } from '../../database/schema/event-schema.ts';
import { p } from '../../database/sql/template.ts';
import { identifier } from '../core/validation.ts';
import { createList, ofApplication } from '../pages/list.ts';
import { isOpenEvent } from './event.ts';
import { getEvent } from './get-event.ts';

const { attendeeId, checkedInAt, occurredAt, gate } = checkIns;

/** Returns a page of an event's check-ins. @throws ServiceError `Event not found`, also for a deleted one */
export const listCheckIns = createList('select_check_ins', {
  name: 'check-ins',
  of: ofApplication,
  rules: { eventId: identifier },
  columns: { attendeeId, checkedInAt, occurredAt, gate },
  order: [checkedInAt, attendeeId],
  where: sql`application_id = ${p.uuid('applicationId')} and event_id = ${p.text('eventId')}
    and exists (select 1 from events where ${isOpenEvent})`,
  requireParent: getEvent,
});
