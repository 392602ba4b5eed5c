import { bigint, index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { bytes, encryptionKeyIdOf, instant } from './column-types.ts';
import type { TableFacts } from './table-facts.ts';

/** The authenticator apps of users, one for each. */
export const totpSecrets = pgTable(
  'totp_secrets',
  {
    userId: uuid('user_id').primaryKey(),
    /** Differs from the ID of a former app, whose codes are of no use any more. */
    id: uuid('id').notNull(),
    /** The secret in Base32, encrypted as the row of this user and ID. */
    sealed: bytes('sealed').notNull(),
    /** The time step of the last code that was used (RFC 6238): no code works twice. */
    lastStep: bigint('last_step', { mode: 'number' }).notNull(),
    /** From when on it is asked, and counts. Null: at once. */
    countsFrom: instant('counts_from'),
    createdAt: instant('created_at').notNull(),
    lastUsedAt: instant('last_used_at'),
  },
  (table) => [index('totp_secrets_key_id_idx').on(encryptionKeyIdOf(table.sealed))],
);

/** Each works once, in place of a code of the app. Their 80 bits cannot be guessed, so the digest needs no key. */
export const recoveryCodes = pgTable(
  'recovery_codes',
  {
    userId: uuid('user_id').notNull(),
    /** SHA-256 of the user ID and the code. */
    digest: bytes('digest').notNull(),
    createdAt: instant('created_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.userId, table.digest] })],
);

/** Sign-ins whose first step was right, and whose second one is missing. Like login codes, they need no foreign key. */
export const heldSignIns = pgTable(
  'held_sign_ins',
  {
    applicationId: uuid('application_id').notNull(),
    loginIntentId: uuid('login_intent_id').notNull(),
    userId: uuid('user_id').notNull(),
    method: text('method').notNull(),
    passkeyId: uuid('passkey_id'),
    browserDigest: bytes('browser_digest').notNull(),
    /** The instant of the sign-in, if it was at a provider before this login. */
    authenticatedAt: instant('authenticated_at'),
    /** The instant of the first step, by Postgres: a later cut-off ends it. */
    provedAt: instant('proved_at').notNull(),
    /** As the user has it at the first step: a change of the address ends it. */
    emailChangedAt: instant('email_changed_at'),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.loginIntentId] }),
    index('held_sign_ins_user_id_idx').on(table.userId),
    index('held_sign_ins_expires_at_idx').on(table.expiresAt),
  ],
);

export const SECOND_FACTOR_TABLES: readonly TableFacts[] = [
  { table: totpSecrets, distributedBy: totpSecrets.userId, expires: [], erasedBy: ['user'] },
  { table: recoveryCodes, distributedBy: recoveryCodes.userId, expires: [], erasedBy: ['user'] },
  {
    table: heldSignIns,
    distributedBy: heldSignIns.loginIntentId,
    expires: [{ expiresAt: heldSignIns.expiresAt }],
    erasedBy: ['user'],
  },
];
