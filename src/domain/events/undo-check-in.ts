import { type SQL, sql } from 'drizzle-orm';
import { nullable, p, statement, t } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { TransactionalCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, identifier, type Unchecked } from '../core/validation.ts';
import { announce, HAS_MESSAGES, jsonObject, messagesOf, notified } from '../outbox/insert-message.ts';
import { checkInResource, shareEventWithoutRules } from './event.ts';
import { storeCounts, withLockedEvent } from './lock-event.ts';

const rules = { eventId: identifier, attendeeId: identifier };

/**
 * Removes a check-in. If an undo and a check-in race, the last one to commit wins.
 *
 * @throws ServiceError `Event not found`, also for a deleted one; `Check-in not found`
 */
export async function undoCheckIn(call: TransactionalCall, request: Unchecked<keyof typeof rules>): Promise<void> {
  const { eventId, attendeeId } = check(request, rules);
  const ids = { applicationId: call.application.id, eventId, attendeeId, now: call.now };
  const [plain] = await call.run(deleteCheckIn, ids);
  const undone = plain ?? (await undoUnderLock(call, eventId, attendeeId));
  if (undone.attendeeId === null) throw new ServiceError('CHECK_IN_NOT_FOUND');
  announce(call.onMessage, undone);
}

async function undoUnderLock(call: TransactionalCall, eventId: string, attendeeId: string) {
  return withLockedEvent(call, eventId, async (run, { checkedIn, attendeeVersion }, ids) => {
    const [undone] = await run(deleteCountedCheckIn, {
      ...ids,
      attendeeId,
      checkedIn: checkedIn === null ? null : checkedIn - 1,
      attendeeVersion: attendeeVersion + 1,
    });
    return undone ?? { attendeeId: null, notifiedIds: [] };
  });
}

const UNDONE = { attendeeId: nullable(t.text), ...HAS_MESSAGES };

const message = {
  type: 'check_in.undone',
  data: jsonObject({ eventId: sql`event_id`, attendeeId: sql`attendee_id` }),
  from: sql`undone`,
} as const;

const changes = sql`${auditEvent({ resource: checkInResource, from: message.from })}, ${messagesOf(message)}`;

const deleteFrom = (event: SQL) => sql`
  delete from check_ins
  where application_id = ${p.uuid('applicationId')} and event_id = ${event} and attendee_id = ${p.text('attendeeId')}
  returning event_id, attendee_id`;

/** Returns a row if the event exists and has no rules, with the attendee if there was a check-in. */
const deleteCheckIn = statement('delete_check_in', UNDONE)`
  with open_event as (${shareEventWithoutRules}
  ), undone as (${deleteFrom(sql`(select id from open_event)`)}
  ), ${changes}
  select attendee_id, ${notified} from open_event left join undone on true`;

/** The same, for an event that is locked. Gives its place back, and tells copies of its list. */
const deleteCountedCheckIn = statement('delete_counted_check_in', UNDONE)`
  with undone as (${deleteFrom(p.text('eventId'))}
  ), listed as (
    update attendees a set version = ${p.bigint('attendeeVersion')}, changed_at = ${p.instant('now')} from undone
    where a.application_id = ${p.uuid('applicationId')} and a.event_id = undone.event_id
      and a.attendee_id = undone.attendee_id
  ), counted as (${storeCounts} and exists (select 1 from undone)
  ), ${changes}
  select attendee_id, ${notified} from undone`;
