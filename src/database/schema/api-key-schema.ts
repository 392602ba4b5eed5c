import { sql } from 'drizzle-orm';
import { boolean, index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { bytes, instant } from './column-types.ts';
import { applicationIdColumn } from './schema.ts';
import type { TableFacts } from './table-facts.ts';

export const apiKeys = pgTable(
  'api_keys',
  {
    applicationId: applicationIdColumn(),
    id: uuid('id').notNull(),
    /** SHA-256 of the key. */
    digest: bytes('digest').notNull(),
    createdAt: instant('created_at').notNull(),
    revokedAt: instant('revoked_at'),
    name: text('name'),
    /** The row is kept afterwards. */
    expiresAt: instant('expires_at'),
    /** In whole minutes. No index has it, so updates are cheap. */
    lastUsedAt: instant('last_used_at'),
    /** The ID of the key that a rotation has created in its place. */
    replacedBy: uuid('replaced_by'),
    /** `API`, or `CLIENT_SECRET` for a key that opens only the OpenID Connect endpoints. */
    use: text('use').notNull().default('API'),
    /** Whether `APPLICATIONS_FILE` has named the key. It is revoked once a file no longer does. */
    declaredByFile: boolean('declared_by_file').notNull().default(false),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.id] }),
    index('api_keys_digest_idx').on(table.digest),
    index('api_keys_id_idx').on(table.id),
    index('api_keys_ending_idx')
      .on(table.expiresAt)
      .where(sql`${table.expiresAt} is not null and ${table.revokedAt} is null and ${table.replacedBy} is null`),
    index('api_keys_list_idx').on(table.applicationId, table.createdAt, table.id),
  ],
);

export const API_KEY_TABLES: readonly TableFacts[] = [
  { table: apiKeys, distributedBy: null, expires: [], erasedBy: [] },
];
