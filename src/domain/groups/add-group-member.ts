import { sql } from 'drizzle-orm';
import { p, type RowOfType, statement, t } from '../../database/sql/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../outbox/insert-message.ts';
import { removeIfErased } from '../users/personal-data.ts';
import { memberChanged } from './change-members.ts';
import { MAX_GROUPS_OF_USER } from './group.ts';

const rules = { groupId: uuid, userId: uuid };

/**
 * Adds a user to a group. A member stays a member.
 *
 * @throws ServiceError `Group not found`, `User not found`, `Too many groups`
 */
export async function addGroupMember(call: Call, request: Unchecked<keyof typeof rules>): Promise<void> {
  const parameters = check(request, rules);
  const found = await call.run(insertMember, { ...parameters, most: MAX_GROUPS_OF_USER, now: call.now });
  const { isFull, ...added } = requireGroupAndUser(found);
  if (isFull) throw new ServiceError('TOO_MANY_GROUPS');
  announce(call.onMessage, added);
  if (await removeIfErased(call, parameters.userId)) throw new ServiceError('USER_NOT_FOUND');
}

/** The row type of `foundGroupAndUser`. */
export const FOUND_GROUP_AND_USER = { hasGroup: t.boolean, hasUser: t.boolean };

/** Selects whether the group and the user exist. Parameters: groupId, userId. */
export const foundGroupAndUser = sql`
  exists (select 1 from groups where id = ${p.uuid('groupId')} and deleted_at is null) as has_group,
  exists (select 1 from users where id = ${p.uuid('userId')} and deleted_at is null) as has_user`;

/** Returns the row of the statement. @throws ServiceError `Group not found`, `User not found` */
export function requireGroupAndUser<Row extends RowOfType<typeof FOUND_GROUP_AND_USER>>([found]: readonly Row[]): Row {
  if (!found?.hasGroup) throw new ServiceError('GROUP_NOT_FOUND');
  if (!found.hasUser) throw new ServiceError('USER_NOT_FOUND');
  return found;
}

const insertMember = statement('insert_group_member', {
  ...FOUND_GROUP_AND_USER,
  isFull: t.boolean,
  ...HAS_MESSAGES,
})`
  with present as (
    select count(*) filter (where group_id <> ${p.uuid('groupId')}) >= ${p.integer('most')} as is_full
    from group_members where user_id = ${p.uuid('userId')}
  ), added as (
    insert into group_members (group_id, user_id, added_at)
    select g.id, u.id, ${p.instant('now')} from groups g, users u, present
    where g.id = ${p.uuid('groupId')} and g.deleted_at is null and u.id = ${p.uuid('userId')} and u.deleted_at is null and not is_full
    on conflict do nothing returning user_id
  ), ${auditEvent({ resource: sql`user_id`, from: sql`added`, applicationId: noApplication })},
  ${messagesOf(memberChanged(sql`added`))}
  select ${foundGroupAndUser}, is_full, ${notified} from present`;
