import { sql } from 'drizzle-orm';
import { nullable, p, statement, t } from '../../database/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, identifier, type Unchecked } from '../core/validation.ts';
import { announce, HAS_MESSAGES, jsonObject, messagesOf, notified } from '../outbox/insert-message.ts';
import { checkInResource, shareEvent } from './event.ts';

const rules = { eventId: identifier, attendeeId: identifier };

/**
 * Removes a check-in. If an undo and a check-in race, the last one to commit wins.
 *
 * @throws ServiceError `Event not found`, also for a deleted one; `Check-in not found`
 */
export async function undoCheckIn(
  { application, run, now, onMessage }: ApplicationCall,
  request: Unchecked<keyof typeof rules>,
): Promise<void> {
  const { eventId, attendeeId } = check(request, rules);
  const [event] = await run(deleteCheckIn, { applicationId: application.id, eventId, attendeeId, now });
  if (!event) throw new ServiceError('EVENT_NOT_FOUND');
  if (event.attendeeId === null) throw new ServiceError('CHECK_IN_NOT_FOUND');
  announce(onMessage, event);
}

const undone = {
  type: 'check_in.undone',
  data: jsonObject({ eventId: sql`event_id`, attendeeId: sql`attendee_id` }),
  from: sql`undone`,
} as const;

/** Returns a row if the event exists, with the attendee if there was a check-in. */
const deleteCheckIn = statement('delete_check_in', { attendeeId: nullable(t.text), ...HAS_MESSAGES })`
  with open_event as (${shareEvent}
  ), undone as (
    delete from check_ins
    where application_id = ${p.uuid('applicationId')} and event_id = (select id from open_event)
      and attendee_id = ${p.text('attendeeId')}
    returning event_id, attendee_id
  ), ${auditEvent({ resource: checkInResource, from: undone.from })}, ${messagesOf(undone)}
  select attendee_id, ${notified} from open_event left join undone on true`;
