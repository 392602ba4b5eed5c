import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { p, statement, t } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { isManagedByFile, requireUnmanaged } from '../core/managed-by-file.ts';
import { boolean, type Checked, check, optional, orDefault, type Unchecked, uuid } from '../core/validation.ts';
import { goOn } from '../lifecycle/finish-change.ts';
import { cutOffEveryRefused, runCutoff } from '../sessions/cutoffs.ts';
import { changeMembers } from './change-members.ts';
import { MAX_GROUPS_OF_APPLICATION } from './group.ts';

const flag = orDefault(boolean, false);
const ids = { groupId: uuid, applicationId: uuid };
const rules = { ...ids, allowsAccess: flag, inClaim: flag };
const rulesOfOne = { ...ids, allowsAccess: optional(boolean), inClaim: optional(boolean) };

/**
 * Sets what a group means to an application. Nothing is stored about a group that means nothing to it. Ends the sign-ins
 * of members if only the group has let them in, and tells the applications that see it. Returns the IDs of members who
 * may have lost access.
 *
 * @throws ServiceError `Group not found`, `Application not found`, `Managed by file`, `Too many groups`
 */
export async function setGroupAccess(call: Call, request: Unchecked<keyof typeof rules>): Promise<ReadonlySet<string>> {
  return storeMeaning(call, check(request, rules));
}

/** As `setGroupAccess`, but keeps what the request leaves out, also if another call changes it at the same time. */
export async function changeGroupAccess(
  call: Call,
  request: Unchecked<keyof typeof rulesOfOne>,
): Promise<ReadonlySet<string>> {
  return storeMeaning(call, check(request, rulesOfOne));
}

async function storeMeaning(call: Call, parameters: Checked<typeof rulesOfOne>): Promise<ReadonlySet<string>> {
  const changeId = randomUUID();
  const [found] = await runCutoff(call, storeAccess, { ...parameters, changeId, most: MAX_GROUPS_OF_APPLICATION });
  if (!found?.hasGroup) throw new ServiceError('GROUP_NOT_FOUND');
  if (!found.hasApplication) throw new ServiceError('APPLICATION_NOT_FOUND');
  requireUnmanaged(found);
  if (found.isFull) throw new ServiceError('TOO_MANY_GROUPS');
  return found.isChanged ? goOn(call, changeId) : new Set();
}

const ofRow = sql`application_id = ${p.uuid('applicationId')} and group_id = ${p.uuid('groupId')}`;

const storeAccess = statement('store_group_access', {
  hasGroup: t.boolean,
  hasApplication: t.boolean,
  isManaged: t.boolean,
  isFull: t.boolean,
  isChanged: t.boolean,
})`
  with target as (
    select g.id as group_id, a.id as application_id from groups g, applications a
    where g.id = ${p.uuid('groupId')} and g.deleted_at is null and a.id = ${p.uuid('applicationId')} and a.deleted_at is null
      and not ${isManagedByFile(sql`a.declared_by_file`)}
  ), held as (
    -- Locked, so that two changes of one meaning each see each other.
    select allows_access, in_claim from application_groups where ${ofRow} for update
  ), wanted as (
    -- Null if nothing is known and nothing is given.
    select coalesce(${p.boolean('allowsAccess')}, (select allows_access from held))
      or coalesce(${p.boolean('inClaim')}, (select in_claim from held)) as is_any,
      -- Read here: once the row has changed, the statement finds none to lock.
      (select allows_access from held) as was_allowed
  ), present as (
    select (select is_any from wanted)
      and count(*) filter (where group_id <> ${p.uuid('groupId')}) >= ${p.integer('most')} as is_full
    from application_groups where application_id = ${p.uuid('applicationId')}
  ), removed as (
    delete from application_groups x using target, wanted
    where x.application_id = target.application_id and x.group_id = target.group_id and not wanted.is_any
    returning x.group_id
  ), stored as (
    insert into application_groups as x (application_id, group_id, allows_access, in_claim)
    select application_id, group_id, coalesce(${p.boolean('allowsAccess')}, false), coalesce(${p.boolean('inClaim')}, false)
    from target, wanted, present where is_any and not is_full
    on conflict (application_id, group_id) do update set
      allows_access = coalesce(${p.boolean('allowsAccess')}, x.allows_access),
      in_claim = coalesce(${p.boolean('inClaim')}, x.in_claim)
    where x.allows_access <> ${p.boolean('allowsAccess')} or x.in_claim <> ${p.boolean('inClaim')}
    returning group_id, allows_access
  ), changed as (
    select group_id, false as allows_access from removed union all select group_id, allows_access from stored
  ), losing as (
    select a.id as application_id from changed join applications a on a.id = ${p.uuid('applicationId')}
    where a.restrict_access and not changed.allows_access and (select was_allowed from wanted)
  ), ${auditEvent({ resource: sql`group_id`, from: sql`changed` })}, ${cutOffEveryRefused(sql`losing`)},
  ${changeMembers({ from: sql`changed`, groupId: sql`group_id`, seeing: sql`select ${p.uuid('applicationId')}` })}
  select exists (select 1 from groups where id = ${p.uuid('groupId')} and deleted_at is null) as has_group,
    exists (select 1 from applications where id = ${p.uuid('applicationId')} and deleted_at is null) as has_application,
    exists (
      select 1 from applications where id = ${p.uuid('applicationId')} and ${isManagedByFile()}
    ) as is_managed,
    is_full, exists (select 1 from changed) as is_changed
  from present`;
