import { index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { bytes, instant } from './column-types.ts';
import { users } from './schema.ts';
import type { TableFacts } from './table-facts.ts';

/**
 * The accounts at other providers with which users sign in. E-mail addresses are not stored, because they change
 * owners.
 */
export const userIdentities = pgTable(
  'user_identities',
  {
    issuer: text('issuer').notNull(),
    subject: text('subject').notNull(),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id),
    /** The ID that the operator's settings gave the provider when the identity was linked. */
    provider: text('provider').notNull(),
    createdAt: instant('created_at').notNull(),
    /** From when on a sign-in with it may have more than one factor. Null: at once. */
    countsFrom: instant('counts_from'),
  },
  (table) => [
    primaryKey({ columns: [table.issuer, table.subject] }),
    index('user_identities_user_id_idx').on(table.userId),
  ],
);

/**
 * Identities that a browser has signed in with but that no user has yet. If a code for an e-mail address is entered in
 * the same login and browser, the identity is linked to its user. Like login codes, the rows need no foreign key.
 */
export const provedIdentities = pgTable(
  'proved_identities',
  {
    applicationId: uuid('application_id').notNull(),
    loginIntentId: uuid('login_intent_id').notNull(),
    /** The ID of the sign-in at the provider. */
    id: uuid('id').notNull(),
    browserDigest: bytes('browser_digest').notNull(),
    provider: text('provider').notNull(),
    issuer: text('issuer').notNull(),
    subject: text('subject').notNull(),
    /** As the provider names it, or empty. */
    email: text('email').notNull(),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.loginIntentId, table.id] }),
    index('proved_identities_expires_at_idx').on(table.expiresAt),
  ],
);

export const IDENTITY_TABLES: readonly TableFacts[] = [
  // Looked up by issuer and subject, and by user.
  { table: userIdentities, distributedBy: null, expires: [], erasedBy: ['user'] },
  {
    table: provedIdentities,
    distributedBy: provedIdentities.loginIntentId,
    expires: [{ expiresAt: provedIdentities.expiresAt }],
    erasedBy: ['login'],
  },
];
