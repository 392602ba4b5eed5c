import { sql } from 'drizzle-orm';
import { placeholders, type Statement } from '../../database/database.ts';
import { events } from '../../database/schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, identifier, optional, pathIdentifier, type Unchecked } from '../validation.ts';
import type { Event } from './event.ts';

const rules = { eventId: pathIdentifier, name: optional(identifier) };

/** Creates an event. @throws ServiceError `Event already exists`, also if the event of that ID is deleted */
export async function createEvent(
  { application, run, now }: ApplicationCall,
  request: Unchecked<keyof typeof rules>,
): Promise<Event> {
  const { eventId, name } = check(request, rules);
  const [created] = await run(insertEvent, { applicationId: application.id, eventId, name, createdAt: now });
  if (!created) throw new ServiceError('EVENT_ALREADY_EXISTS');
  return { eventId, name, createdAt: now };
}

const insertEvent: Statement<{ id: string }[]> = (db) => {
  const created = db.$with('created').as(
    db
      .insert(events)
      .values({ ...placeholders('applicationId', 'name', 'createdAt'), id: sql.placeholder('eventId') })
      .onConflictDoNothing()
      .returning({ id: events.id }),
  );
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`created` });
  return db.with(created, audit).select({ id: created.id }).from(created).prepare('insert_event');
};
