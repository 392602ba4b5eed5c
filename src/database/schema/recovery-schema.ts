import { sql } from 'drizzle-orm';
import { index, pgTable, smallint, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { bytes, instant } from './column-types.ts';
import { DAY_MS, type TableFacts } from './table-facts.ts';

/**
 * Links with which people who have lost a way to sign in get their account back. Neither the token of a link nor its
 * spoken code is stored.
 */
export const recoveryLinks = pgTable(
  'recovery_links',
  {
    id: uuid('id').primaryKey(),
    userId: uuid('user_id').notNull(),
    /** SHA-256 of the token in the link. */
    digest: bytes('digest').notNull(),
    /** HMAC-SHA-256 of the spoken code, with a key of login codes. */
    codeHmac: bytes('code_hmac').notNull(),
    /** HMAC-SHA-256 of the address that the user had: with another one, the link is void. */
    addressKey: bytes('address_key').notNull(),
    /** What its use removes. */
    removes: text('removes').array().notNull(),
    /** The name of the admin key, or the user ID of the operator. */
    createdBy: text('created_by').notNull(),
    createdAt: instant('created_at').notNull(),
    usableAt: instant('usable_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    /** How many wrong codes were entered. */
    attempts: smallint('attempts').notNull().default(0),
    /** `OPEN`, also after `expires_at`, until something else has ended it. */
    status: text('status').notNull().default('OPEN'),
    endedAt: instant('ended_at'),
  },
  (table) => [
    uniqueIndex('recovery_links_digest_key').on(table.digest),
    uniqueIndex('recovery_links_open_key').on(table.userId).where(sql`${table.status} = 'OPEN'`),
    index('recovery_links_list_idx').on(table.userId, table.createdAt, table.id),
    index('recovery_links_expires_at_idx').on(table.expiresAt),
  ],
);

/** So operators see what came before, when they are asked for another link. */
const KEPT_MS = 90 * DAY_MS;

export const RECOVERY_TABLES: readonly TableFacts[] = [
  // Few rows, which are read by user, by token and by ID, and changed together with the user.
  {
    table: recoveryLinks,
    distributedBy: null,
    expires: [{ expiresAt: recoveryLinks.expiresAt, graceMs: KEPT_MS }],
    erasedBy: ['user'],
  },
];
