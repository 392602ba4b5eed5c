import { and, eq, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { checkIns } from '../../database/schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, identifier, type Unchecked } from '../validation.ts';
import { announce, type HasMessages, insertMessages, jsonObject, notifiedIds } from '../webhooks/insert-message.ts';
import { checkInResource, selectAndShareEvent } from './event.ts';

const rules = { eventId: identifier, attendeeId: identifier };

/**
 * Removes a check-in. Of an undo and a check-in that race, the last to commit wins.
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

/** Returns the event, with the attendee if there was a check-in. */
const deleteCheckIn: Statement<({ eventId: string; attendeeId: string | null } & HasMessages)[]> = (db) => {
  const open = db.$with('open_event').as(selectAndShareEvent(db));
  const undone = db.$with('undone').as(
    db
      .delete(checkIns)
      .where(
        and(
          eq(checkIns.applicationId, sql.placeholder('applicationId')),
          eq(checkIns.eventId, sql`(select ${open.eventId} from ${open})`),
          eq(checkIns.attendeeId, sql.placeholder('attendeeId')),
        ),
      )
      .returning({ eventId: checkIns.eventId, attendeeId: checkIns.attendeeId }),
  );
  const audit = insertAuditEvent(db, { resource: checkInResource, from: sql`undone` });
  const data = jsonObject({ eventId: sql`event_id`, attendeeId: sql`attendee_id` });
  const message = insertMessages(db, { type: 'check_in.undone', data, from: sql`undone` });
  return db
    .with(open, undone, audit, message)
    .select({ eventId: open.eventId, attendeeId: undone.attendeeId, notifiedIds })
    .from(open)
    .leftJoin(undone, eq(undone.eventId, open.eventId))
    .prepare('delete_check_in');
};
