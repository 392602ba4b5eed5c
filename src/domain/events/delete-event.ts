import { sql } from 'drizzle-orm';
import { columnsOf, p, statement } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, identifier, type Unchecked } from '../core/validation.ts';
import { announce, HAS_MESSAGES, jsonObject, messagesOf, notified, toIsoText } from '../outbox/insert-message.ts';
import { changeableColumns, eventFields, eventLock, isOpenEvent } from './event.ts';

const rules = { eventId: identifier };

/**
 * Soft-deletes an event. Once this has resolved, no check-in to the event commits. Its list, which may be long, is left to
 * the expiry job: it shows nowhere any more.
 *
 * @throws ServiceError `Event not found`, also if the event is of another application or deleted already
 */
export async function deleteEvent(
  { application, run, now, onMessage }: ApplicationCall,
  request: Unchecked<keyof typeof rules>,
): Promise<void> {
  const { eventId } = check(request, rules);
  const [deleted] = await run(markEventDeleted, { applicationId: application.id, eventId, now });
  if (!deleted) throw new ServiceError('EVENT_NOT_FOUND');
  announce(onMessage, deleted);
}

const deletedData = jsonObject({ ...eventFields, deletedAt: toIsoText(sql`deleted_at`) });

const markEventDeleted = statement('mark_event_deleted', HAS_MESSAGES)`
  with locked as (
    -- A CTE of its own: the condition of an update must not call a volatile function.
    select id from events where ${isOpenEvent} and ${eventLock.exclusive} for update
  ), deleted as (
    update events e set deleted_at = ${p.instant('now')} from locked
    where e.application_id = ${p.uuid('applicationId')} and e.id = locked.id
    returning e.id, e.deleted_at, e.created_at, ${columnsOf(changeableColumns, 'e')}
  ), ${auditEvent({ resource: sql`id`, from: sql`deleted` })},
  ${messagesOf({ type: 'event.deleted', data: deletedData, from: sql`deleted` })}
  select ${notified} from deleted`;
