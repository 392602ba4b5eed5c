/** Tables about Usher's own operation. */
import { sql } from 'drizzle-orm';
import { bigint, boolean, index, integer, pgTable, primaryKey, smallint, text, uuid } from 'drizzle-orm/pg-core';
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

/**
 * Changes of which a part is still to be done. The statement of the change inserts the row, and a job does the rest in
 * batches, on any replica.
 */
export const unfinishedChanges = pgTable(
  'unfinished_changes',
  {
    id: uuid('id').primaryKey(),
    kind: text('kind').$type<'application' | 'group' | 'invitation' | 'user'>().notNull(),
    /** The ID of the application, group or user. The user of an invitation. */
    subjectId: uuid('subject_id').notNull(),
    /** The applications that users may have lost. Of a group, also those that see its members change. */
    losingIds: uuid('losing_ids').array().notNull().default([]),
    seeingIds: uuid('seeing_ids').array().notNull().default([]),
    /** Whether the group goes, or a user who was nothing but the invitation. */
    isRemoval: boolean('is_removal').notNull().default(false),
    step: smallint('step').notNull().default(0),
    /** How far the step has come: the ID of the last row that is done. */
    after: uuid('after').notNull().default(sql`'00000000-0000-0000-0000-000000000000'`),
    createdAt: instant('created_at').notNull(),
    /** When the job goes on. Later while a process is at it. */
    dueAt: instant('due_at').notNull(),
  },
  (table) => [index('unfinished_changes_due_at_idx').on(table.dueAt)],
);

/** The file of `APPLICATIONS_FILE` that was applied last, in one row. */
export const declaredFiles = pgTable('declared_files', {
  /** SHA-256 of the file, in hex. */
  digest: text('digest').notNull(),
  revision: integer('revision'),
  appliedAt: instant('applied_at').notNull(),
  /** There is one row. */
  id: smallint('id').primaryKey().default(1),
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
  // Written together with applications, groups and users, of which every server has a copy.
  { table: unfinishedChanges, distributedBy: null, expires: [], erasedBy: [] },
  { table: declaredFiles, distributedBy: null, expires: [], erasedBy: [] },
];
