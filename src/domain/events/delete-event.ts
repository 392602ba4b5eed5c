import { and, eq, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { events, instantPlaceholder } from '../../database/schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, identifier, type Unchecked } from '../validation.ts';
import { announce, type HasMessages, insertMessages, notifiedIds, toIsoText } from '../webhooks/insert-message.ts';
import { eventData, eventLock, isOpenEvent } from './event.ts';

const rules = { eventId: identifier };

/**
 * Soft-deletes an event. After this has resolved, no check-in to it commits.
 *
 * @throws ServiceError `Event not found`, also if the event is of another application or deleted already
 */
export async function deleteEvent(
  { application, run, now, onMessage }: ApplicationCall,
  request: Unchecked<keyof typeof rules>,
): Promise<void> {
  const { eventId } = check(request, rules);
  const [deleted] = await run(markDeleted, { applicationId: application.id, eventId, now });
  if (!deleted) throw new ServiceError('EVENT_NOT_FOUND');
  announce(onMessage, deleted);
}

const markDeleted: Statement<HasMessages[]> = (db) => {
  // Distributed databases take no lock in the condition of an update.
  const locked = db
    .$with('locked')
    .as(db.select({ id: events.id }).from(events).where(isOpenEvent(eventLock.exclusive)).for('update'));
  const deleted = db.$with('deleted').as(
    db
      .update(events)
      .set({ deletedAt: instantPlaceholder('now') })
      .from(locked)
      .where(and(eq(events.applicationId, sql.placeholder('applicationId')), eq(events.id, locked.id)))
      .returning({ id: events.id, name: events.name, createdAt: events.createdAt, deletedAt: events.deletedAt }),
  );
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`deleted` });
  const data = eventData('deleted', { deletedAt: toIsoText(sql`deleted.deleted_at`) });
  const message = insertMessages(db, { type: 'event.deleted', data, from: sql`deleted` });
  return db.with(locked, deleted, audit, message).select({ notifiedIds }).from(deleted).prepare('mark_event_deleted');
};
