import { sql } from 'drizzle-orm';
import { columnsOf, p, statement } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, pathIdentifier, type Unchecked } from '../core/validation.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../outbox/insert-message.ts';
import { changeableColumns, changeableRules, type Event, eventData, requireWindow } from './event.ts';

const rules = { eventId: pathIdentifier, ...changeableRules };

/** Creates an event. @throws ServiceError `Event already exists`, also if an event with this ID was deleted */
export async function createEvent(
  { application, run, now, onMessage }: ApplicationCall,
  request: Unchecked<keyof typeof rules>,
): Promise<Event> {
  const fields = check(request, rules);
  requireWindow(fields);
  const [created] = await run(insertEvent, { applicationId: application.id, ...fields, now });
  if (!created) throw new ServiceError('EVENT_ALREADY_EXISTS');
  announce(onMessage, created);
  return { ...fields, createdAt: now };
}

const values = Object.entries(changeableColumns).map(([name, column]) => p.of(column, name));

const insertEvent = statement('insert_event', HAS_MESSAGES)`
  with created as (
    insert into events (application_id, id, created_at, ${columnsOf(changeableColumns)})
    values (${p.uuid('applicationId')}, ${p.text('eventId')}, ${p.instant('now')}, ${sql.join(values, sql`, `)})
    on conflict do nothing returning id, created_at, ${columnsOf(changeableColumns)}
  ), ${auditEvent({ resource: sql`id`, from: sql`created` })},
  ${messagesOf({ type: 'event.created', data: eventData, from: sql`created` })}
  select ${notified} from created`;
