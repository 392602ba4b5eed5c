import { sql } from 'drizzle-orm';
import { groupMembers, groups } from '../../database/schema/group-schema.ts';
import { p } from '../../database/sql/template.ts';
import { uuid } from '../core/validation.ts';
import { createList } from '../pages/list.ts';
import { getUser } from '../users/get-user.ts';

/** Returns a page of the groups of a user, the latest first. @throws ServiceError `User not found` */
export const listUserGroups = createList('select_user_groups', {
  name: 'user groups',
  rules: { userId: uuid },
  columns: {
    groupId: groupMembers.groupId,
    name: groups.name,
    displayName: groups.displayName,
    addedAt: groupMembers.addedAt,
  },
  select: sql`group_id, g.name, g.display_name, added_at`,
  order: [groupMembers.addedAt, groupMembers.groupId],
  join: sql`join groups g on g.id = group_id and g.deleted_at is null`,
  where: sql`user_id = ${p.uuid('userId')}`,
  requireParent: (call, { userId }) => getUser(call, { userId }),
});
