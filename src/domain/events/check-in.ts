import { sql } from 'drizzle-orm';
import { checkIns } from '../../database/schema/event-schema.ts';
import { p, statement, t } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { TransactionalCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, identifier, type Unchecked } from '../core/validation.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../outbox/insert-message.ts';
import { admitScans } from './admit-scans.ts';
import { checkInResource, shareEventWithoutRules } from './event.ts';
import { type CheckIn, checkInMessage, type RefusalReason, scanRules } from './scan.ts';

const rules = { eventId: identifier, ...scanRules };

interface CheckInResult extends CheckIn {
  readonly alreadyCheckedIn: boolean;
  /** Why the attendee would have been refused if the scan did not say that they are inside. */
  readonly reason: string | null;
}

/**
 * Checks an attendee in to an event.
 *
 * @throws ServiceError `Event not found`, also for a deleted one; `Event has not started`, `Event has ended`, `Attendee
 * not listed`, `Attendee blocked`, `Event is full`, `Scan time out of range`
 */
export async function checkIn(call: TransactionalCall, request: Unchecked<keyof typeof rules>): Promise<CheckInResult> {
  const { eventId, ...scan } = check(request, rules);
  const { attendeeId, ...given } = scan;
  if (!Object.values(given).some(Boolean)) {
    const ids = { applicationId: call.application.id, eventId, attendeeId };
    const [row] = await call.run(insertCheckIn, { ...ids, now: call.now });
    if (row) {
      announce(call.onMessage, row);
      const { notifiedIds: _, ...result } = row;
      return { attendeeId, reason: null, ...result };
    }
  }
  const [result] = await admitScans(call, eventId, [scan], `${eventId}/${attendeeId}`);
  if (!result?.checkIn) throw new ServiceError(result?.reason as RefusalReason);
  return { ...result.checkIn, alreadyCheckedIn: result.outcome === 'ALREADY_CHECKED_IN', reason: result.reason };
}

const { checkedInAt, occurredAt, gate } = checkIns;
const CHECKED_IN = { checkedInAt, occurredAt, gate, alreadyCheckedIn: t.boolean, ...HAS_MESSAGES };

/**
 * The share lock on the event makes a delete wait for concurrent check-ins. A check-in that has waited for a delete
 * reads the event again. So no check-in commits after the answer to the delete.
 */
const insertCheckIn = statement('insert_check_in', CHECKED_IN)`
  with open_event as (${shareEventWithoutRules}
  ), checked_in as (
    insert into check_ins (application_id, event_id, attendee_id, checked_in_at)
    select application_id, id, ${p.text('attendeeId')}, ${p.instant('now')} from open_event
    -- The update waits for the row lock. If an undo has removed the row meanwhile, this inserts a new one.
    on conflict (application_id, event_id, attendee_id) do update set is_repeated = true
    returning attendee_id, checked_in_at, occurred_at, gate, is_repeated as already_checked_in
  ), created as (
    select * from checked_in where not already_checked_in
  ), ${auditEvent({ resource: checkInResource, from: sql`created` })}, ${messagesOf(checkInMessage)}
  select checked_in_at, occurred_at, gate, already_checked_in, ${notified} from checked_in`;
