import { sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { checkIns, events, instantPlaceholder } from '../../database/schema.ts';
import type { ApplicationCall } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, identifier, type Unchecked } from '../validation.ts';
import { type HasMessage, hasMessage, insertMessage, jsonObject, toIsoText } from '../webhooks/insert-message.ts';
import { eventLock, isOpenEvent } from './open-event.ts';

const rules = { eventId: identifier, attendeeId: identifier };

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
  if (!row) throw new ServiceError('not_found', 'Event not found');
  const { checkedInAt, alreadyCheckedIn, hasMessage } = row;
  if (hasMessage) onMessage?.(application.id);
  return { attendeeId, checkedInAt, alreadyCheckedIn };
}

/**
 * The share lock on the event makes a delete wait for concurrent check-ins, and makes a check-in that waited
 * for a delete read the row again. So no check-in commits after the delete has answered.
 */
const insertCheckIn: Statement<(Omit<CheckIn, 'attendeeId'> & HasMessage)[]> = (db) => {
  const open = db
    .$with('open_event')
    .as(
      db
        .select({ applicationId: events.applicationId, eventId: events.id })
        .from(events)
        .where(isOpenEvent(eventLock.shared))
        .for('share'),
    );
  const checkedIn = db.$with('checked_in').as(
    db
      .insert(checkIns)
      .select(
        db
          .select({
            applicationId: open.applicationId,
            eventId: open.eventId,
            attendeeId: sql`${sql.placeholder('attendeeId')}::text`.as('attendee_id'),
            checkedInAt: sql`${instantPlaceholder('now')}::timestamptz`.as('checked_in_at'),
          })
          .from(open),
      )
      .onConflictDoUpdate({
        target: [checkIns.applicationId, checkIns.eventId, checkIns.attendeeId],
        // Changes nothing, but returns the existing row.
        set: { attendeeId: sql`${checkIns.attendeeId}` },
      })
      .returning({
        checkedInAt: checkIns.checkedInAt,
        // This transaction has locked a row that existed before.
        alreadyCheckedIn: sql<boolean>`xmax <> 0`.as('already_checked_in'),
      }),
  );
  const message = insertMessage(db, {
    type: 'check_in.created',
    data: jsonObject({
      eventId: sql`${sql.placeholder('eventId')}::text`,
      attendeeId: sql`${sql.placeholder('attendeeId')}::text`,
      checkedInAt: toIsoText(sql`checked_in.checked_in_at`),
    }),
    from: sql`(select checked_in_at from checked_in where not already_checked_in) checked_in`,
  });
  return db
    .with(open, checkedIn, message)
    .select({ checkedInAt: checkedIn.checkedInAt, alreadyCheckedIn: checkedIn.alreadyCheckedIn, hasMessage })
    .from(checkedIn)
    .prepare('insert_check_in');
};
