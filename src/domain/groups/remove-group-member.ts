import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { FOUND_GROUP_AND_USER, foundGroupAndUser, requireGroupAndUser } from './add-group-member.ts';

const rules = { groupId: uuid, userId: uuid };

/**
 * Removes a user from a group, and returns the user's ID. Others stay others.
 *
 * @throws ServiceError `Group not found`, `User not found`
 */
export async function removeGroupMember({ run }: Call, request: Unchecked<keyof typeof rules>): Promise<string> {
  const parameters = check(request, rules);
  requireGroupAndUser(await run(deleteMember, parameters));
  return parameters.userId;
}

const deleteMember = statement('delete_group_member', FOUND_GROUP_AND_USER)`
  with removed as (
    delete from group_members where group_id = ${p.uuid('groupId')} and user_id = ${p.uuid('userId')}
    returning user_id
  ), ${auditEvent({ resource: sql`user_id`, from: sql`removed`, applicationId: noApplication })}
  select ${foundGroupAndUser}`;
