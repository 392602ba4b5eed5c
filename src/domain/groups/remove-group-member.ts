import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/sql/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { AFFECTED, affectedUsers, cutOffLost, endLostAccess, lossMessages } from '../lifecycle/lost-access.ts';
import { messagesOf } from '../outbox/insert-message.ts';
import { runCutoff } from '../sessions/cutoffs.ts';
import { FOUND_GROUP_AND_USER, foundGroupAndUser, requireGroupAndUser } from './add-group-member.ts';
import { memberChanged } from './change-members.ts';

const rules = { groupId: uuid, userId: uuid };

/**
 * Removes a user from a group, ends the user's sign-ins where only the group has let the user in, and returns the user's
 * ID. Others stay others.
 *
 * @throws ServiceError `Group not found`, `User not found`
 */
export async function removeGroupMember(call: Call, request: Unchecked<keyof typeof rules>): Promise<string> {
  const parameters = check(request, rules);
  const found = await runCutoff(call, deleteMember, parameters);
  requireGroupAndUser(found);
  await endLostAccess(call, found);
  return parameters.userId;
}

const deleteMember = statement('delete_group_member', {
  ...FOUND_GROUP_AND_USER,
  ...AFFECTED,
})`
  with removed as (
    delete from group_members where group_id = ${p.uuid('groupId')} and user_id = ${p.uuid('userId')}
    returning user_id
  ), affected as (
    select g.application_id, removed.user_id from removed join application_groups g on g.group_id = ${p.uuid('groupId')}
    where g.allows_access
  ), ${auditEvent({ resource: sql`user_id`, from: sql`removed`, applicationId: noApplication })},
  ${cutOffLost(sql`m.group_id <> ${p.uuid('groupId')}`)}, ${messagesOf(...lossMessages, memberChanged(sql`removed`))}
  select ${foundGroupAndUser}, ${affectedUsers}`;
