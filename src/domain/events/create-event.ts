import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, identifier, optional, pathIdentifier, type Unchecked } from '../core/validation.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../outbox/insert-message.ts';
import { type Event, eventData } from './event.ts';

const rules = { eventId: pathIdentifier, name: optional(identifier) };

/** Creates an event. @throws ServiceError `Event already exists`, also if an event with this ID was deleted */
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

const insertEvent = statement('insert_event', HAS_MESSAGES)`
  with created as (
    insert into events (application_id, id, name, created_at)
    values (${p.uuid('applicationId')}, ${p.text('eventId')}, ${p.text('name')}, ${p.instant('now')})
    on conflict do nothing returning id, name, created_at
  ), ${auditEvent({ resource: sql`id`, from: sql`created` })},
  ${messagesOf({ type: 'event.created', data: eventData, from: sql`created` })}
  select ${notified} from created`;
