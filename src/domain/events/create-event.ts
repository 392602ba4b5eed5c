import { sql } from 'drizzle-orm';
import { placeholders, type Statement } from '../../database/database.ts';
import { events } from '../../database/schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, identifier, optional, pathIdentifier, type Unchecked } from '../validation.ts';
import { announce, type HasMessages, insertMessages, notifiedIds } from '../webhooks/insert-message.ts';
import { type Event, eventData } from './event.ts';

const rules = { eventId: pathIdentifier, name: optional(identifier) };

/** Creates an event. @throws ServiceError `Event already exists`, also if the event of that ID is deleted */
export async function createEvent(
  { application, run, now, onMessage }: ApplicationCall,
  request: Unchecked<keyof typeof rules>,
): Promise<Event> {
  const { eventId, name } = check(request, rules);
  const [created] = await run(insertEvent, { applicationId: application.id, eventId, name, now });
  if (!created) throw new ServiceError('EVENT_ALREADY_EXISTS');
  announce(onMessage, created);
  return { eventId, name, createdAt: now };
}

const insertEvent: Statement<HasMessages[]> = (db) => {
  const created = db.$with('created').as(
    db
      .insert(events)
      .values({
        ...placeholders('applicationId', 'name'),
        id: sql.placeholder('eventId'),
        createdAt: sql.placeholder('now'),
      })
      .onConflictDoNothing()
      .returning({ id: events.id, name: events.name, createdAt: events.createdAt }),
  );
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`created` });
  const message = insertMessages(db, { type: 'event.created', data: eventData('created'), from: sql`created` });
  return db.with(created, audit, message).select({ notifiedIds }).from(created).prepare('insert_event');
};
