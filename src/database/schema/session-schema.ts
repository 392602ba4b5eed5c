/** Sessions, the cut-offs that end them, and the users of an application. */
import { sql } from 'drizzle-orm';
import { index, pgTable, primaryKey, smallint, text, uuid } from 'drizzle-orm/pg-core';
import { attributes, bytes, instant } from './column-types.ts';
import { applicationIdColumn, DEFAULT_IDLE_SECONDS, profileColumns, users } from './schema.ts';
import type { TableFacts } from './table-facts.ts';

/**
 * The newest session of each user in each application. A renewal replaces the ID and the instants. No index contains
 * these columns, so the update is HOT, within the page of the row. `session_ids` finds a session by its ID.
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
    /** Those of the user's attributes that the application saw when the session began. Null for none. */
    attributes: attributes(),
    ipAddress: text('ip_address').notNull(),
    userAgent: text('user_agent').notNull(),
    /** SHA-256 of the browser of the last sign-in on the login page. */
    browserDigest: bytes('browser_digest'),
    /** How the user signed in last. */
    method: text('method').notNull(),
    /** The level of that sign-in, as in `login_intents`. */
    assurance: smallint('assurance').notNull().default(1),
    /** Who signed in last on behalf of the user. Null if the user did. */
    onBehalfBy: text('on_behalf_by'),
    authenticatedAt: instant('authenticated_at').notNull(),
    /**
     * The latest sign-in, which limits the session's age. Null if it is `authenticatedAt`, the sign-in that cut-offs
     * end.
     */
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
 * Every session by its ID. A renewed session stays valid beside its successor until it expires. If the application
 * allows it, an expired session can be renewed until its row is removed.
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
    /** When the row is removed. */
    keptUntil: instant('kept_until').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.id] }),
    index('session_ids_kept_until_idx').on(table.keptUntil),
  ],
);

/** When the row was written last: readers of revocations ask for what has changed since. Statements do not write it. */
const changedAt = () => instant('changed_at').notNull().default(sql`statement_timestamp()`);

/**
 * Cut-offs within an application, of one user or of all: they end the sessions and grants of earlier sign-ins. That of one
 * browser refuses codes.
 */
export const sessionCutoffs = pgTable(
  'session_cutoffs',
  {
    applicationId: uuid('application_id').notNull(),
    /** The ID of a user, the `sid` of a browser, or one that stands for many users. */
    userId: uuid('user_id').notNull(),
    cutoffAt: instant('cutoff_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    changedAt: changedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.userId] }),
    index('session_cutoffs_expires_at_idx').on(table.expiresAt),
    index('session_cutoffs_changed_at_idx').on(table.applicationId, table.changedAt),
  ],
);

/** Cut-offs of a user in every application. */
export const userCutoffs = pgTable(
  'user_cutoffs',
  {
    userId: uuid('user_id').primaryKey(),
    cutoffAt: instant('cutoff_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    changedAt: changedAt(),
  },
  (table) => [
    index('user_cutoffs_expires_at_idx').on(table.expiresAt),
    index('user_cutoffs_changed_at_idx').on(table.changedAt),
  ],
);

/** Cut-offs of a user in one browser: a sign-out on Usher's pages ends the sign-ins there, and no others. */
export const browserCutoffs = pgTable(
  'browser_cutoffs',
  {
    userId: uuid('user_id').notNull(),
    /** As in `login_intents`. */
    browserDigest: bytes('browser_digest').notNull(),
    cutoffAt: instant('cutoff_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.userId, table.browserDigest] }),
    index('browser_cutoffs_expires_at_idx').on(table.expiresAt),
  ],
);

/** The users who have signed in to an application. */
export const applicationUsers = pgTable(
  'application_users',
  {
    applicationId: uuid('application_id').notNull(),
    userId: uuid('user_id').notNull(),
    firstSignedInAt: instant('first_signed_in_at').notNull(),
    /**
     * Up to a day before the actual last sign-in, so that few sign-ins update it. No index has it, so the update can be
     * HOT.
     */
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
    index('added_users_list_idx').on(table.applicationId, table.addedAt, table.userId),
  ],
);

/** How long after its expiry a session of application `a` can be renewed, as an interval. */
export const renewableFor = sql`coalesce(nullif(a.session_idle_seconds, ${sql.raw(String(DEFAULT_IDLE_SECONDS))}), 0) * interval '1 second'`;

export const SESSION_TABLES: readonly TableFacts[] = [
  // The expiry job removes them with the rows of `session_ids`.
  { table: sessions, distributedBy: sessions.applicationId, expires: [], erasedBy: ['user'] },
  {
    table: sessionIds,
    distributedBy: sessionIds.applicationId,
    expires: [{ expiresAt: sessionIds.keptUntil }],
    erasedBy: [],
  },
  {
    table: sessionCutoffs,
    distributedBy: sessionCutoffs.applicationId,
    expires: [{ expiresAt: sessionCutoffs.expiresAt }],
    erasedBy: [],
  },
  // A row ends the sessions of a user in every application.
  { table: userCutoffs, distributedBy: null, expires: [{ expiresAt: userCutoffs.expiresAt }], erasedBy: [] },
  { table: applicationUsers, distributedBy: applicationUsers.applicationId, expires: [], erasedBy: ['user'] },
  { table: addedUsers, distributedBy: addedUsers.applicationId, expires: [], erasedBy: ['user'] },
  // The same as of `user_cutoffs`, in one browser.
  {
    table: browserCutoffs,
    distributedBy: null,
    expires: [{ expiresAt: browserCutoffs.expiresAt }],
    erasedBy: ['user'],
  },
];
