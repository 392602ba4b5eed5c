import { type SQL, sql } from 'drizzle-orm';
import { columnsOf, p } from '../../database/sql/template.ts';
import { leaveUnfinished } from '../core/unfinished-changes.ts';
import type { Message } from '../outbox/insert-message.ts';
import { userMessage } from '../outbox/user-messages.ts';
import { userColumns } from '../users/user.ts';

/**
 * Returns the CTE `unfinished`, which leaves to the job what a change of a group means to its members. The CTE `losing`
 * has the applications that they may have lost. Parameter: groupId.
 *
 * @param seeing selects the IDs of applications that learn of it, beside those that see the group
 */
export function changeMembers({
  from,
  groupId,
  losing = sql`select application_id from losing`,
  seeing,
  isRemoval = sql`false`,
}: {
  readonly from: SQL;
  readonly groupId: SQL;
  readonly losing?: SQL;
  readonly seeing?: SQL;
  readonly isRemoval?: SQL;
}): SQL {
  const ofGroup = sql`select application_id from application_groups where group_id = ${p.uuid('groupId')} and in_claim`;
  return leaveUnfinished('group', {
    from,
    subjectId: groupId,
    losing: sql`array(${losing})`,
    seeing: sql`array(${ofGroup}${seeing ? sql` union ${seeing}` : sql``})`,
    isRemoval,
  });
}

/**
 * Returns the message to the applications that see a group, and that its member has signed in to, that the user has
 * changed. Parameter: userId.
 *
 * @param changed a CTE that has a row for each group of the user that has changed
 * @param groupId the ID of each
 */
export function memberChanged(changed: SQL, groupId: SQL = p.uuid('groupId')): Message {
  const user = sql`(
    select ${columnsOf(userColumns)} from users
    where deleted_at is null and id = ${p.uuid('userId')}
      -- Equivalent: conjunct: without a change nobody is told, and this saves reading the user
      and exists (select 1 from ${changed}))`;
  const message = userMessage('user.updated', user);
  const isSeeing = sql`signed_in.application_id = any(array(
    select y.application_id from ${changed} x join application_groups y on y.group_id = ${groupId} and y.in_claim))`;
  return { ...message, from: sql`${message.from} where ${isSeeing}`, part: sql`changed.id` };
}
