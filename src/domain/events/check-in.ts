import { sql } from 'drizzle-orm';
import { checkIns } from '../../database/event-schema.ts';
import { p, statement, t } from '../../database/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, identifier, pathIdentifier, type Unchecked } from '../core/validation.ts';
import { announce, HAS_MESSAGES, jsonObject, messagesOf, notified, toIsoText } from '../outbox/insert-message.ts';
import { checkInResource, shareEvent } from './event.ts';

const rules = { eventId: identifier, attendeeId: pathIdentifier };

export interface CheckIn {
  readonly attendeeId: string;
  /** When the attendee first checked in. */
  readonly checkedInAt: Date;
  readonly alreadyCheckedIn: boolean;
}

/** Checks an attendee in to an event. @throws ServiceError `Event not found`, also for a deleted one */
export async function checkIn(
  { application, run, now, onMessage }: ApplicationCall,
  request: Unchecked<keyof typeof rules>,
): Promise<CheckIn> {
  const { eventId, attendeeId } = check(request, rules);
  const [row] = await run(insertCheckIn, { applicationId: application.id, eventId, attendeeId, now });
  if (!row) throw new ServiceError('EVENT_NOT_FOUND');
  announce(onMessage, row);
  const { checkedInAt, alreadyCheckedIn } = row;
  return { attendeeId, checkedInAt, alreadyCheckedIn };
}

const created = {
  type: 'check_in.created',
  data: jsonObject({
    eventId: p.text('eventId'),
    attendeeId: p.text('attendeeId'),
    checkedInAt: toIsoText(sql`checked_in_at`),
  }),
  from: sql`checked_in where not already_checked_in`,
} as const;

const CHECKED_IN = { checkedInAt: checkIns.checkedInAt, alreadyCheckedIn: t.boolean, ...HAS_MESSAGES };

/**
 * The share lock on the event makes a delete wait for concurrent check-ins. A check-in that has waited for a delete
 * reads the event again. So no check-in commits after the answer to the delete.
 */
const insertCheckIn = statement('insert_check_in', CHECKED_IN)`
  with open_event as (${shareEvent}
  ), checked_in as (
    insert into check_ins (application_id, event_id, attendee_id, checked_in_at)
    select application_id, id, ${p.text('attendeeId')}, ${p.instant('now')} from open_event
    -- The update waits for the row lock. If an undo has removed the row meanwhile, this inserts a new one.
    on conflict (application_id, event_id, attendee_id) do update set is_repeated = true
    returning checked_in_at, is_repeated as already_checked_in
  ), ${auditEvent({ resource: checkInResource, from: created.from })}, ${messagesOf(created)}
  select checked_in_at, already_checked_in, ${notified} from checked_in`;
