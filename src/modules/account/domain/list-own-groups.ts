import { groupMembers, groups } from '../../../database/schema/group-schema.ts';
import { p, type RowOfType, statement } from '../../../database/sql/template.ts';
import type { Call } from '../../../domain/core/call.ts';

const columns = { name: groups.name, displayName: groups.displayName, addedAt: groupMembers.addedAt };

/** Returns the groups of a user, by name. */
export function listOwnGroups({ run }: Pick<Call, 'run'>, userId: string): Promise<RowOfType<typeof columns>[]> {
  return run(selectGroups, { userId });
}

const selectGroups = statement('select_account_groups', columns)`
  select g.name, g.display_name, m.added_at from group_members m join groups g on g.id = m.group_id and g.deleted_at is null
  where m.user_id = ${p.uuid('userId')} order by g.name`;
