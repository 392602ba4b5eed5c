import { sql } from 'drizzle-orm';
import { columnsOf, p, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { createVersionReader } from '../core/changes.ts';
import { ServiceError } from '../core/errors.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { chosenGroupColumns, type Group, groupColumns } from './group.ts';

const rules = { groupId: uuid };

/** Returns a group. @throws ServiceError `Group not found` */
export async function getGroup({ run }: Call, request: Unchecked<keyof typeof rules>): Promise<Group> {
  const [group] = await run(selectGroup, check(request, rules));
  if (!group) throw new ServiceError('GROUP_NOT_FOUND');
  return group;
}

const selectGroup = statement('select_group', groupColumns)`
  select ${columnsOf(groupColumns)} from groups where id = ${p.uuid('groupId')} and deleted_at is null`;

/** Returns the group with a name. @throws ServiceError `Group not found` */
export async function getGroupByName({ run }: Pick<Call, 'run'>, name: string): Promise<Group> {
  const [group] = await run(selectGroupByName, { name });
  if (!group) throw new ServiceError('GROUP_NOT_FOUND');
  return group;
}

const selectGroupByName = statement('select_group_by_name', groupColumns)`
  select ${columnsOf(groupColumns)} from groups where name = ${p.text('name')}`;

const readVersion = createVersionReader(
  'select_group_version',
  chosenGroupColumns,
  sql`groups where id = ${p.uuid('groupId')} and deleted_at is null`,
);

/** Returns the version for `ifVersion` of a later UpdateGroup, or undefined if there is no such group. */
export function readGroupVersion(call: Call, request: Unchecked<keyof typeof rules>): Promise<string | undefined> {
  return readVersion(call, check(request, rules));
}
