import { sql } from 'drizzle-orm';
import { boolean, index, pgTable, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { instant } from './column-types.ts';
import { applicationIdColumn } from './schema.ts';
import type { TableFacts } from './table-facts.ts';

/**
 * Invitations to applications, open or accepted. The link in the e-mail has no secret: whoever follows it signs in as
 * anybody does. The rows of revoked invitations and of those that expired while they were open are removed.
 */
export const invitations = pgTable(
  'invitations',
  {
    applicationId: applicationIdColumn(),
    id: uuid('id').notNull(),
    /** The address that was invited. The user may have another one since. */
    email: text('email').notNull(),
    /** Who had the address. Not a foreign key: rows of users are never removed. */
    userId: uuid('user_id').notNull(),
    /** Whether the invitation has created the user, and the row of `added_users`. They go with it unless somebody signs in. */
    createdUser: boolean('created_user').notNull(),
    addedUser: boolean('added_user').notNull(),
    /** The groups that the user joins at the first sign-in. */
    groupIds: uuid('group_ids').array().notNull().default([]),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    /** When somebody first signed in on behalf of the user, which accepts nothing. */
    onBehalfAt: instant('on_behalf_at'),
    /** When the user first signed in after the invitation. */
    acceptedAt: instant('accepted_at'),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.id] }),
    // A second invitation of the same user renews the open one.
    uniqueIndex('invitations_open_key').on(table.applicationId, table.userId).where(sql`${table.acceptedAt} is null`),
    index('invitations_list_idx').on(table.applicationId, table.createdAt, table.id),
    index('invitations_user_id_idx').on(table.userId),
    index('invitations_expires_at_idx').on(table.expiresAt).where(sql`${table.acceptedAt} is null`),
  ],
);

/** Each completion of a login looks for an invitation, whatever its application, and few calls write one. */
export const INVITATION_TABLES: readonly TableFacts[] = [
  // A job of its own removes expired rows, with what they have inserted.
  { table: invitations, distributedBy: null, expires: [], erasedBy: ['user'] },
];
