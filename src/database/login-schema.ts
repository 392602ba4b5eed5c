/** The tables of the login page; see schema.ts. */
import { foreignKey, index, pgTable, primaryKey, smallint, text, uuid } from 'drizzle-orm/pg-core';
import { bytes, instant, loginIntents } from './schema.ts';

/** Codes that were sent by e-mail, or would have been had the address been a user's. */
export const loginCodes = pgTable(
  'login_codes',
  {
    applicationId: uuid('application_id').notNull(),
    loginIntentId: uuid('login_intent_id').notNull(),
    id: uuid('id').notNull(),
    /**
     * Whom the code lets in; null where the address is nobody's. Not a foreign key: to check one takes
     * time, which would tell. Users are never removed, and codes are after minutes.
     */
    userId: uuid('user_id'),
    browserDigest: bytes('browser_digest').notNull(),
    codeDigest: bytes('code_digest').notNull(),
    attempts: smallint('attempts').notNull().default(0),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.loginIntentId, table.id] }),
    foreignKey({
      name: 'login_codes_login_intent_fk',
      columns: [table.applicationId, table.loginIntentId],
      foreignColumns: [loginIntents.applicationId, loginIntents.id],
    }).onDelete('cascade'),
    index('login_codes_expires_at_idx').on(table.expiresAt),
  ],
);

/** Messages a wallet was asked to sign. */
export const walletChallenges = pgTable(
  'wallet_challenges',
  {
    applicationId: uuid('application_id').notNull(),
    loginIntentId: uuid('login_intent_id').notNull(),
    id: uuid('id').notNull(),
    browserDigest: bytes('browser_digest').notNull(),
    /** In lower case. */
    address: text('address').notNull(),
    message: text('message').notNull(),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.loginIntentId, table.id] }),
    foreignKey({
      name: 'wallet_challenges_login_intent_fk',
      columns: [table.applicationId, table.loginIntentId],
      foreignColumns: [loginIntents.applicationId, loginIntents.id],
    }).onDelete('cascade'),
    index('wallet_challenges_expires_at_idx').on(table.expiresAt),
  ],
);

/** When something that may be done only so often was done; belongs to no application. */
export const rateLimits = pgTable(
  'rate_limits',
  {
    /** SHA-256 of what is limited, an e-mail address for one. */
    key: bytes('key').primaryKey(),
    instants: instant('instants').array().notNull(),
    /** The latest of them, by which replicas of an earlier version know their own. */
    lastId: uuid('last_id').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [index('rate_limits_expires_at_idx').on(table.expiresAt)],
);
