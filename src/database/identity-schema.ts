import { index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { bytes, instant, users } from './schema.ts';

/** The accounts at other providers with which users sign in. Addresses are no part of them: they change owners. */
export const userIdentities = pgTable(
  'user_identities',
  {
    issuer: text('issuer').notNull(),
    subject: text('subject').notNull(),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id),
    /** The ID of the provider, as the operator has named it when the identity was linked. */
    provider: text('provider').notNull(),
    createdAt: instant('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.issuer, table.subject] }),
    index('user_identities_user_id_idx').on(table.userId),
  ],
);

/**
 * Identities without a user that browsers have signed in with, until the login ends. Whoever enters the code for an e-mail
 * address there gets the identity. Like login codes, they need no foreign key.
 */
export const provedIdentities = pgTable(
  'proved_identities',
  {
    applicationId: uuid('application_id').notNull(),
    loginIntentId: uuid('login_intent_id').notNull(),
    /** Of the sign-in at the provider. */
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
