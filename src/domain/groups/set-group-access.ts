import { sql } from 'drizzle-orm';
import { p, statement, t } from '../../database/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { boolean, check, orDefault, type Unchecked, uuid } from '../core/validation.ts';
import { AFFECTED, affectedUsers, cutOffLost, endLostAccess, lossMessages } from '../lifecycle/lost-access.ts';
import { messagesOf } from '../outbox/insert-message.ts';
import { runCutoff } from '../sessions/cutoffs.ts';
import { MAX_GROUPS_OF_APPLICATION } from './group.ts';
import { tellMembers } from './tell-members.ts';

const flag = orDefault(boolean, false);
const rules = { groupId: uuid, applicationId: uuid, allowsAccess: flag, inClaim: flag };

/**
 * Sets what a group means to an application. Nothing is stored about a group that means nothing to it. Ends the sign-ins
 * of members if only the group has let them in. Returns the IDs of members who may have lost access.
 *
 * @throws ServiceError `Group not found`, `Application not found`, `Too many groups`
 */
export async function setGroupAccess(call: Call, request: Unchecked<keyof typeof rules>): Promise<readonly string[]> {
  const parameters = check(request, rules);
  const stored = await runCutoff(call, storeAccess, { ...parameters, most: MAX_GROUPS_OF_APPLICATION });
  const found = await endLostAccess(call, stored);
  if (!found?.hasGroup) throw new ServiceError('GROUP_NOT_FOUND');
  if (!found.hasApplication) throw new ServiceError('APPLICATION_NOT_FOUND');
  if (found.isFull) throw new ServiceError('TOO_MANY_GROUPS');
  const { groupId, applicationId } = parameters;
  if (found.isChanged) await tellMembers(call, { groupId, applicationId });
  return found.affected.map(([, userId]) => userId);
}

const isAny = sql`(${p.boolean('allowsAccess')} or ${p.boolean('inClaim')})`;

const storeAccess = statement('store_group_access', {
  hasGroup: t.boolean,
  hasApplication: t.boolean,
  isFull: t.boolean,
  isChanged: t.boolean,
  ...AFFECTED,
})`
  with target as (
    select g.id as group_id, a.id as application_id from groups g, applications a
    where g.id = ${p.uuid('groupId')} and a.id = ${p.uuid('applicationId')} and a.deleted_at is null
  ), present as (
    select ${isAny} and count(*) filter (where group_id <> ${p.uuid('groupId')}) >= ${p.integer('most')} as is_full
    from application_groups where application_id = ${p.uuid('applicationId')}
  ), removed as (
    delete from application_groups x using target
    where x.application_id = target.application_id and x.group_id = target.group_id and not ${isAny}
    returning x.group_id
  ), stored as (
    insert into application_groups as x (application_id, group_id, allows_access, in_claim)
    select application_id, group_id, ${p.boolean('allowsAccess')}, ${p.boolean('inClaim')} from target, present
    where ${isAny} and not is_full
    on conflict (application_id, group_id) do update set allows_access = excluded.allows_access, in_claim = excluded.in_claim
    where row(x.allows_access, x.in_claim) <> row(excluded.allows_access, excluded.in_claim)
    returning group_id
  ), changed as (
    select group_id from removed union all select group_id from stored
  ), affected as (
    select ${p.uuid('applicationId')} as application_id, member.user_id
    from changed join group_members member on member.group_id = changed.group_id
    where not ${p.boolean('allowsAccess')}
  ), ${auditEvent({ resource: sql`group_id`, from: sql`changed` })},
  ${cutOffLost(sql`(g.application_id, g.group_id) <> (${p.uuid('applicationId')}, ${p.uuid('groupId')})`)},
  ${messagesOf(...lossMessages)}
  select exists (select 1 from groups where id = ${p.uuid('groupId')}) as has_group,
    exists (select 1 from applications where id = ${p.uuid('applicationId')} and deleted_at is null) as has_application,
    is_full, exists (select 1 from changed) as is_changed, ${affectedUsers}
  from present`;
