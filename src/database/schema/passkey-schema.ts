import { bigint, boolean, index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { bytes, instant } from './column-types.ts';
import type { TableFacts } from './table-facts.ts';

/**
 * Passkeys of users. The primary key is the credential ID, because a sign-in knows nothing else, and Citus demands that
 * the primary key contains the distribution column. There is no foreign key, because rows of users are never removed.
 */
export const passkeys = pgTable(
  'passkeys',
  {
    userId: uuid('user_id').notNull(),
    id: uuid('id').notNull(),
    credentialId: bytes('credential_id').notNull(),
    /** The relying party ID: the host of the login page when the passkey was made, or a parent domain of it. */
    rpId: text('rp_id').notNull(),
    /** In COSE (RFC 9052). */
    publicKey: bytes('public_key').notNull(),
    signCount: bigint('sign_count', { mode: 'number' }).notNull(),
    transports: text('transports').array().notNull(),
    /** The model of the authenticator. */
    aaguid: uuid('aaguid').notNull(),
    isBackupEligible: boolean('is_backup_eligible').notNull(),
    isBackedUp: boolean('is_backed_up').notNull(),
    /** Whether the authenticator verified the person when the passkey was made. */
    isUserVerified: boolean('is_user_verified').notNull(),
    name: text('name').notNull(),
    createdAt: instant('created_at').notNull(),
    /** From when on it counts in full. Before, it is young. Null, like the next column: at once. */
    countsFrom: instant('counts_from'),
    /** The same for operators who must sign in with a passkey. */
    countsForOperatorsFrom: instant('counts_for_operators_from'),
    lastUsedAt: instant('last_used_at'),
  },
  (table) => [primaryKey({ columns: [table.credentialId] }), index('passkeys_user_id_idx').on(table.userId, table.id)],
);

export const PASSKEY_TABLES: readonly TableFacts[] = [
  { table: passkeys, distributedBy: passkeys.credentialId, expires: [], erasedBy: ['user'] },
];
