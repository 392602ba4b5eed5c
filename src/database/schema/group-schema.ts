/** Groups of users, and what each group means to applications. */
import { boolean, index, pgTable, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { instant } from './column-types.ts';
import { applicationIdColumn, declaredByFileColumn } from './schema.ts';
import type { TableFacts } from './table-facts.ts';

export const groups = pgTable(
  'groups',
  {
    id: uuid('id').primaryKey(),
    /** The value that applications get. */
    name: text('name').notNull(),
    displayName: text('display_name'),
    declaredByFile: declaredByFileColumn(),
    createdAt: instant('created_at').notNull(),
    /** A deleted group means nothing any more. A job removes its memberships and then the row. */
    deletedAt: instant('deleted_at'),
  },
  (table) => [uniqueIndex('groups_name_key').on(table.name), index('groups_list_idx').on(table.createdAt, table.id)],
);

/** Deletes a row together with its group, also a row that a concurrent call has inserted. */
const groupIdColumn = () =>
  uuid('group_id')
    .notNull()
    .references(() => groups.id, { onDelete: 'cascade' });

export const groupMembers = pgTable(
  'group_members',
  {
    groupId: groupIdColumn(),
    /** Not a foreign key: rows of users are never removed. */
    userId: uuid('user_id').notNull(),
    addedAt: instant('added_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.groupId, table.userId] }),
    index('group_members_list_idx').on(table.groupId, table.addedAt, table.userId),
    index('group_members_user_list_idx').on(table.userId, table.addedAt, table.groupId),
  ],
);

/** A row exists only if one of its flags is true. */
export const applicationGroups = pgTable(
  'application_groups',
  {
    applicationId: applicationIdColumn(),
    groupId: groupIdColumn(),
    /** Whether members may sign in to the application if it is restricted. */
    allowsAccess: boolean('allows_access').notNull(),
    /** Whether the application sees who is in the group. */
    inClaim: boolean('in_claim').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.groupId] }),
    index('application_groups_group_id_idx').on(table.groupId),
  ],
);

/** Read with rows of every application and of every login, and written by operators only. */
export const GROUP_TABLES: readonly TableFacts[] = [
  { table: groups, distributedBy: null, expires: [], erasedBy: [] },
  { table: groupMembers, distributedBy: null, expires: [], erasedBy: ['user'] },
  { table: applicationGroups, distributedBy: null, expires: [], erasedBy: [] },
];
