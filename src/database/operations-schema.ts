/** Tables about Usher's own operation. */
import { bigint, index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { bytes, encryptionKeyIdOf, instant } from './column-types.ts';
import { DAY_MS, type TableFacts } from './table-facts.ts';

/** The answers to calls with an `Idempotency-Key`, for a day. A foreign key would protect nothing for so short a time. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    /** `NO_APPLICATION` for a call with an admin key. */
    applicationId: uuid('application_id').notNull(),
    /** SHA-256 of the caller, the RPC and the key, in hex. */
    id: text('id').notNull(),
    /** The digest of the request and the answer, which may have secrets, encrypted. */
    answer: bytes('answer').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.id] }),
    index('idempotency_keys_expires_at_idx').on(table.expiresAt),
    index('idempotency_keys_encryption_key_idx').on(encryptionKeyIdOf(table.answer)),
  ],
);

/** How often things happened in each hour, in all processes. */
export const hourlyCounts = pgTable(
  'hourly_counts',
  {
    name: text('name').notNull(),
    /** When the hour began, in UTC. */
    hour: instant('hour').notNull(),
    count: bigint('count', { mode: 'number' }).notNull(),
  },
  // The key begins with the hour, because rows expire by hour.
  (table) => [primaryKey({ columns: [table.hour, table.name] })],
);

/**
 * The progress of the expiry job in tables where rows of different lifetimes are mixed: all short-lived rows up to
 * `reached_at` are removed. A run starts there, so it does not read the long-lived rows again.
 */
export const expiryMarks = pgTable('expiry_marks', {
  name: text('name').primaryKey(),
  reachedAt: instant('reached_at').notNull(),
});

const HOURLY_COUNTS_DAYS = 90;

export const OPERATIONS_TABLES: readonly TableFacts[] = [
  {
    table: idempotencyKeys,
    distributedBy: idempotencyKeys.applicationId,
    expires: [{ expiresAt: idempotencyKeys.expiresAt }],
    erasedBy: [],
  },
  {
    table: hourlyCounts,
    distributedBy: hourlyCounts.name,
    expires: [{ expiresAt: hourlyCounts.hour, graceMs: HOURLY_COUNTS_DAYS * DAY_MS }],
    erasedBy: [],
  },
  { table: expiryMarks, distributedBy: expiryMarks.name, expires: [], erasedBy: [] },
];
