import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { p, statement, t } from '../../database/sql/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { isManagedByFile, requireUnmanaged } from '../core/managed-by-file.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { goOn } from '../lifecycle/finish-change.ts';
import { cutOffEveryRefused, runCutoff } from '../sessions/cutoffs.ts';
import { changeMembers } from './change-members.ts';

const rules = { groupId: uuid };

/**
 * Deletes a group with its memberships, and ends the sign-ins of members where only the group has let them in. Returns
 * the IDs of members who may have lost access.
 *
 * @throws ServiceError `Group not found`, `Managed by file`
 */
export async function deleteGroup(call: Call, request: Unchecked<keyof typeof rules>): Promise<ReadonlySet<string>> {
  const changeId = randomUUID();
  const [found] = await runCutoff(call, markGroupDeleted, { ...check(request, rules), changeId });
  if (!found) throw new ServiceError('GROUP_NOT_FOUND');
  requireUnmanaged(found);
  return goOn(call, changeId);
}

/** The name is free again: no group has one that begins with a tilde. */
const markGroupDeleted = statement('mark_group_deleted', { isManaged: t.boolean })`
  with found as (
    select id, ${isManagedByFile()} as is_managed from groups
    where id = ${p.uuid('groupId')} and deleted_at is null for no key update
  ), deleted as (
    update groups g set deleted_at = ${p.instant('now')}, name = '~' || g.id
    from found where g.id = found.id and not found.is_managed returning g.id
  ), meanings as (
    delete from application_groups g using deleted where g.group_id = deleted.id
    returning g.application_id, g.allows_access
  ), losing as (
    select m.application_id from meanings m join applications a on a.id = m.application_id
    where m.allows_access and a.restrict_access and a.deleted_at is null
  ), ${auditEvent({ resource: sql`id`, from: sql`deleted`, applicationId: noApplication })},
  ${cutOffEveryRefused(sql`losing`)},
  ${changeMembers({ from: sql`deleted`, groupId: sql`id`, isRemoval: sql`true` })}
  select is_managed from found`;
