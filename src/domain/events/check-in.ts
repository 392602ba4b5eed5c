import { sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { checkIns, instantPlaceholder } from '../../database/schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, identifier, pathIdentifier, type Unchecked } from '../validation.ts';
import {
  announce,
  type HasMessages,
  insertMessages,
  jsonObject,
  notifiedIds,
  toIsoText,
} from '../webhooks/insert-message.ts';
import { checkInResource, selectAndShareEvent } from './event.ts';

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

/**
 * The share lock on the event makes a delete wait for concurrent check-ins. A check-in that waited for a delete
 * reads the row again. So no check-in commits after the delete has answered.
 */
const insertCheckIn: Statement<(Omit<CheckIn, 'attendeeId'> & HasMessages)[]> = (db) => {
  const open = db.$with('open_event').as(selectAndShareEvent(db));
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
            isRepeated: sql`false`.as('is_repeated'),
          })
          .from(open),
      )
      .onConflictDoUpdate({
        target: [checkIns.applicationId, checkIns.eventId, checkIns.attendeeId],
        // It takes the row lock: an undo that commits first removes the row, and this inserts it.
        // A literal: Citus cannot tell the type of a parameter there.
        set: { isRepeated: sql`true` },
      })
      .returning({ checkedInAt: checkIns.checkedInAt, alreadyCheckedIn: checkIns.isRepeated }),
  );
  const audit = insertAuditEvent(db, { resource: checkInResource, from: sql`checked_in where not is_repeated` });
  const message = insertMessages(db, {
    type: 'check_in.created',
    data: jsonObject({
      eventId: sql`${sql.placeholder('eventId')}::text`,
      attendeeId: sql`${sql.placeholder('attendeeId')}::text`,
      checkedInAt: toIsoText(sql`checked_in_at`),
    }),
    from: sql`(select checked_in_at from ${checkedIn} where not is_repeated) as checked_in`,
  });
  return db
    .with(open, checkedIn, audit, message)
    .select({ checkedInAt: checkedIn.checkedInAt, alreadyCheckedIn: checkedIn.alreadyCheckedIn, notifiedIds })
    .from(checkedIn)
    .prepare('insert_check_in');
};
