/** Sessions, the cut-offs that end them, and the users of an application. */
import { sql } from 'drizzle-orm';
import { index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { applicationIdColumn, bytes, instant, profileColumns, users } from './schema.ts';

/**
 * The newest session of each user in each application: the primary key allows one. A renewal replaces the ID and the
 * instants. No index has them, so that the update stays on its page (HOT); `session_ids` finds a session by its ID.
 */
export const sessions = pgTable(
  'sessions',
  {
    applicationId: applicationIdColumn(),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id),
    id: uuid('id').notNull(),
    ...profileColumns(),
    ipAddress: text('ip_address').notNull(),
    userAgent: text('user_agent').notNull(),
    /** SHA-256 of the browser of the last sign-in on the login page. */
    browserDigest: bytes('browser_digest'),
    /** How the user signed in last. */
    method: text('method').notNull(),
    authenticatedAt: instant('authenticated_at').notNull(),
    /** The latest sign-in, from which the longest age counts. Null if it is that of `authenticatedAt`, which cut-offs end. */
    lastAuthenticatedAt: instant('last_authenticated_at'),
    /** When the first session of the chain began. */
    beganAt: instant('began_at').notNull(),
    /** The latest cut-off when the chain began. */
    cutoffAt: instant('cutoff_at'),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.userId] }),
    index('sessions_user_list_idx').on(table.userId, table.beganAt, table.applicationId),
    index('sessions_list_idx').on(table.applicationId, table.beganAt, table.userId),
  ],
);

/**
 * Every session by its ID. One that has been renewed lives on beside its successor until it expires. Where the application
 * allows it, an expired one can be renewed until it is removed.
 */
export const sessionIds = pgTable(
  'session_ids',
  {
    applicationId: uuid('application_id').notNull(),
    id: uuid('id').notNull(),
    userId: uuid('user_id').notNull(),
    authenticatedAt: instant('authenticated_at').notNull(),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    /** When it is removed. The default is for the version before, whose sessions cannot be renewed later. */
    keptUntil: instant('kept_until').notNull().default(sql`now() + interval '15 minutes'`),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.id] }),
    // Of the version before, which removes sessions when they expire.
    index('session_ids_expires_at_idx').on(table.expiresAt),
    index('session_ids_kept_until_idx').on(table.keptUntil),
  ],
);

/** Ends what was authenticated up to an instant: for a user in an application, or for all of its users. */
export const sessionCutoffs = pgTable(
  'session_cutoffs',
  {
    applicationId: uuid('application_id').notNull(),
    /** `EVERY_USER`, or one. */
    userId: uuid('user_id').notNull(),
    cutoffAt: instant('cutoff_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.userId] }),
    index('session_cutoffs_expires_at_idx').on(table.expiresAt),
  ],
);

/** Ends what was authenticated up to an instant: for a user in every application. */
export const userCutoffs = pgTable(
  'user_cutoffs',
  {
    userId: uuid('user_id').primaryKey(),
    cutoffAt: instant('cutoff_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [index('user_cutoffs_expires_at_idx').on(table.expiresAt)],
);

/** The users who have signed in to an application. */
export const applicationUsers = pgTable(
  'application_users',
  {
    applicationId: uuid('application_id').notNull(),
    userId: uuid('user_id').notNull(),
    firstSignedInAt: instant('first_signed_in_at').notNull(),
    /** At most a day before the last sign-in, so that it is seldom written. No index has it, so the update can be HOT. */
    lastSignedInAt: instant('last_signed_in_at'),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.userId] }),
    index('application_users_list_idx').on(table.applicationId, table.firstSignedInAt, table.userId),
    index('application_users_user_list_idx').on(table.userId, table.firstSignedInAt, table.applicationId),
  ],
);

/** The users whom an operator has added to an application, whether or not they have signed in to it. */
export const addedUsers = pgTable(
  'added_users',
  {
    applicationId: uuid('application_id').notNull(),
    userId: uuid('user_id').notNull(),
    addedAt: instant('added_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.userId] }),
    index('added_users_user_id_idx').on(table.userId, table.applicationId),
  ],
);
