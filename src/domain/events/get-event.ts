import type { Statement } from '../../database/pool/database.ts';
import { events } from '../../database/schema/event-schema.ts';
import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, identifier, type Unchecked } from '../core/validation.ts';
import { type Event, eventColumns, isOpenEvent } from './event.ts';

const rules = { eventId: identifier };

/** Returns an event of the application. @throws ServiceError `Event not found`, also for a deleted one */
export async function getEvent(
  { application, run }: ApplicationCall,
  request: Unchecked<keyof typeof rules>,
): Promise<Event> {
  const { eventId } = check(request, rules);
  const [event] = await run(selectEvent, { applicationId: application.id, eventId });
  if (!event) throw new ServiceError('EVENT_NOT_FOUND');
  return event;
}

const selectEvent: Statement<Event[]> = (db) =>
  db.select(eventColumns).from(events).where(isOpenEvent).prepare('select_event');
