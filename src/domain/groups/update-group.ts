import { sql } from 'drizzle-orm';
import { isUniqueViolation } from '../../database/sql/errors.ts';
import { columnsOf, p, statement, t } from '../../database/sql/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import {
  changedValues,
  changeParameters,
  changes,
  hasExpectedVersion,
  isChanged,
  requireExpected,
  versionParameter,
} from '../core/changes.ts';
import { ServiceError } from '../core/errors.ts';
import { isManagedByFile, requireUnmanaged } from '../core/managed-by-file.ts';
import { unfinishedParameters } from '../core/unfinished-changes.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { goOn } from '../lifecycle/finish-change.ts';
import { changeMembers } from './change-members.ts';
import { chosenGroupColumns, type Group, groupColumns, groupRules } from './group.ts';

const rules = { groupId: uuid, ...changes(groupRules) };

/**
 * Changes a group and returns it.
 *
 * @throws ServiceError `Group not found`, `Managed by file`, `Group already exists`, `Changed meanwhile`
 */
export async function updateGroup(call: Call, request: Unchecked<keyof typeof rules>): Promise<Group> {
  const { groupId, ...given } = check(request, rules);
  const unfinished = unfinishedParameters(call.now);
  const parameters = { groupId, now: call.now, ...unfinished, ...versionParameter(call), ...changeParameters(given) };
  const [updated] = await call.run(updateChanged, parameters).catch((error: unknown) => {
    throw isUniqueViolation(error) ? new ServiceError('GROUP_ALREADY_EXISTS') : error;
  });
  if (!updated) throw new ServiceError('GROUP_NOT_FOUND');
  requireUnmanaged(updated);
  requireExpected(updated);
  if (given.name !== undefined) await goOn(call, unfinished.changeId);
  return updated.group;
}

const updateChanged = statement('update_group', {
  group: groupColumns,
  isManaged: t.boolean,
  isExpected: t.boolean,
})`
  with wanted as (
    select id, created_at, declared_by_file, ${changedValues(chosenGroupColumns)}, ${isManagedByFile()} as is_managed,
      ${hasExpectedVersion(chosenGroupColumns)} and not ${isManagedByFile()} as is_expected
    from groups where id = ${p.uuid('groupId')} and deleted_at is null for no key update
  ), changed as (
    update groups g set (${columnsOf(chosenGroupColumns)}) = row(${columnsOf(chosenGroupColumns, 'w')}) from wanted w
    where g.id = w.id and w.is_expected
      and row(${columnsOf(chosenGroupColumns, 'g')}) is distinct from row(${columnsOf(chosenGroupColumns, 'w')})
    returning g.id
  ), ${auditEvent({ resource: sql`id`, from: sql`changed`, applicationId: noApplication })},
  ${changeMembers({ from: sql`changed where ${isChanged('name')}`, groupId: sql`id`, losing: sql`select null::uuid where false` })}
  select ${columnsOf(groupColumns)}, is_managed, is_expected from wanted`;
