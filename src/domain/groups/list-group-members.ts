import { sql } from 'drizzle-orm';
import { groupMembers } from '../../database/schema/group-schema.ts';
import { users } from '../../database/schema/schema.ts';
import { p } from '../../database/sql/template.ts';
import { uuid } from '../core/validation.ts';
import { createList } from '../pages/list.ts';
import { getGroup } from './get-group.ts';

/** Returns a page of the members of a group, the latest first. @throws ServiceError `Group not found` */
export const listGroupMembers = createList('select_group_members', {
  name: 'group members',
  rules: { groupId: uuid },
  columns: { userId: groupMembers.userId, email: users.email, name: users.name, addedAt: groupMembers.addedAt },
  select: sql`user_id, email, name, added_at`,
  order: [groupMembers.addedAt, groupMembers.userId],
  join: sql`join users on users.id = user_id and users.deleted_at is null`,
  where: sql`group_id = ${p.uuid('groupId')}`,
  requireParent: getGroup,
});
