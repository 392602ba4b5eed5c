import { sql } from 'drizzle-orm';
import { columnsOf, p, statement } from '../../../database/template.ts';
import { auditEvent, noApplication } from '../../../domain/audit/audit-event.ts';
import type { Call } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { check, type Unchecked, uuid } from '../../../domain/core/validation.ts';
import {
  AFFECTED,
  affectedUsers,
  cutOffLost,
  endLostAccess,
  lossMessages,
} from '../../../domain/lifecycle/lost-access.ts';
import { messagesOf } from '../../../domain/outbox/insert-message.ts';
import { userMessage } from '../../../domain/outbox/user-messages.ts';
import { runCutoff } from '../../../domain/sessions/cutoffs.ts';
import { userColumns } from '../../../domain/users/user.ts';

const rules = { groupId: uuid };

/**
 * Deletes a group with its memberships, and ends the sign-ins of members where only the group has let them in. Returns
 * the IDs of members who may have lost access.
 *
 * @throws ServiceError `Group not found`
 */
export async function deleteGroup(call: Call, request: Unchecked<keyof typeof rules>): Promise<readonly string[]> {
  const deleted = await endLostAccess(call, await runCutoff(call, removeGroup, check(request, rules)));
  if (!deleted) throw new ServiceError('GROUP_NOT_FOUND');
  return deleted.affected.map(([, userId]) => userId);
}

const updated = userMessage('user.updated', sql`changed`);
/** To the applications that see the group. */
const toSeeing = {
  ...updated,
  from: sql`${updated.from} where exists (select 1 from deleted)
    and signed_in.application_id = any(array(select application_id from seeing))`,
  part: sql`changed.id`,
};

// What goes with the group is read before, because the parts of the statement may run one after the other.
const removeGroup = statement('delete_group', AFFECTED)`
  with held as materialized (
    select g.application_id, member.user_id
    from group_members member join application_groups g on g.group_id = member.group_id
    where member.group_id = ${p.uuid('groupId')} and g.allows_access
  ), seeing as materialized (
    select application_id from application_groups where group_id = ${p.uuid('groupId')} and in_claim
  ), changed as materialized (
    select ${columnsOf(userColumns)} from users
    where deleted_at is null and id = any(array(
      select m.user_id from group_members m where m.group_id = ${p.uuid('groupId')}))
  ), deleted as (
    delete from groups where id = ${p.uuid('groupId')} returning id
  ), affected as (
    select held.application_id, held.user_id from held, deleted
  ), ${auditEvent({ resource: sql`id`, from: sql`deleted`, applicationId: noApplication })},
  ${cutOffLost(sql`m.group_id <> ${p.uuid('groupId')}`)}, ${messagesOf(...lossMessages, toSeeing)}
  select ${affectedUsers} from deleted`;
