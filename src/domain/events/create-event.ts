import { sql } from 'drizzle-orm';
import { placeholders, type Statement } from '../../database/database.ts';
import { events } from '../../database/schema.ts';
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

const insertEvent: Statement<{ id: string }[]> = (db) =>
  db
    .insert(events)
    .values({ ...placeholders('applicationId', 'name', 'createdAt'), id: sql.placeholder('eventId') })
    .onConflictDoNothing()
    .returning({ id: events.id })
    .prepare('insert_event');
