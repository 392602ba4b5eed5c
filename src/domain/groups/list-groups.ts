import { sql } from 'drizzle-orm';
import { groups } from '../../database/schema/group-schema.ts';
import { createList } from '../pages/list.ts';
import { groupColumns } from './group.ts';

/** Returns a page of the groups, the newest first. */
export const listGroups = createList('select_groups', {
  name: 'groups',
  columns: groupColumns,
  order: [groups.createdAt, groups.id],
  where: sql`deleted_at is null`,
});
