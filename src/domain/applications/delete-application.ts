import { sql } from 'drizzle-orm';
import { p, statement, t } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { isManagedByFile, requireUnmanaged } from '../core/managed-by-file.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { askAgain, cutOffApplicationSessions, runCutoff } from '../sessions/cutoffs.ts';

const rules = { applicationId: uuid };

/**
 * Soft-deletes an application: its keys stop working, its sessions end, its logos are deleted, and its webhooks get no
 * more requests.
 *
 * @throws ServiceError `Application not found`, `Managed by file`
 */
export async function deleteApplication(call: Call, request: Unchecked<keyof typeof rules>): Promise<void> {
  const { applicationId } = check(request, rules);
  const [found] = await runCutoff(call, markApplicationDeleted, { applicationId });
  if (!found) throw new ServiceError('APPLICATION_NOT_FOUND');
  requireUnmanaged(found);
}

const markApplicationDeleted = statement('mark_application_deleted', { isManaged: t.boolean })`
  with found as (
    select id, ${isManagedByFile()} as is_managed from applications
    where id = ${p.uuid('applicationId')} and deleted_at is null for no key update
  ), deleted as (
    update applications a set deleted_at = ${p.instant('now')}
    from found where a.id = found.id and not found.is_managed
    returning a.id, a.client_id
  ), logos as (
    delete from application_logos l using deleted
    where l.application_id = ${p.uuid('applicationId')}
  ), ${auditEvent({ resource: sql`id`, from: sql`deleted` })},
  ${cutOffApplicationSessions(sql`deleted`)}, ${askAgain(sql`
    select r.id from applications r join deleted d on d.client_id = any(r.machine_client_ids) where r.id <> d.id`)}
  select is_managed from found`;
