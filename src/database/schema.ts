/**
 * The tables. Keys of a tenant's table begin with `application_id`, so that the statements of an
 * application's calls stay within it, and the tables can be distributed by it.
 */
import { type SQL, sql } from 'drizzle-orm';
import {
  type AnyPgColumn,
  boolean,
  customType,
  foreignKey,
  index,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';

export const bytes = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

/** An instant in whole milliseconds: what an answer shows is exactly what is stored. */
export const instant = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'date' });

/** A placeholder for a Date, for where Drizzle does not see by the column beside it how to write one. */
export function instantPlaceholder(name: string): SQL {
  return sql`${sql.param(sql.placeholder(name), applications.createdAt)}`;
}

export const applications = pgTable(
  'applications',
  {
    id: uuid('id').primaryKey(),
    name: text('name').notNull(),
    clientId: text('client_id').notNull(),
    redirectUris: text('redirect_uris').array().notNull(),
    createdAt: instant('created_at').notNull(),
    deletedAt: instant('deleted_at'),
  },
  (table) => [uniqueIndex('applications_client_id_key').on(table.clientId)],
);

export const apiKeys = pgTable(
  'api_keys',
  {
    applicationId: uuid('application_id')
      .notNull()
      .references(() => applications.id),
    id: uuid('id').notNull(),
    /** SHA-256 of the key. */
    digest: bytes('digest').notNull(),
    createdAt: instant('created_at').notNull(),
    revokedAt: instant('revoked_at'),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.id] }),
    index('api_keys_digest_idx').on(table.digest),
    index('api_keys_id_idx').on(table.id),
  ],
);

export const users = pgTable(
  'users',
  {
    id: uuid('id').primaryKey(),
    email: text('email').notNull(),
    name: text('name'),
    profileImage: text('profile_image'),
    walletAddress: text('wallet_address').notNull(),
    createdAt: instant('created_at').notNull(),
    deletedAt: instant('deleted_at'),
  },
  (table) => [
    uniqueIndex('users_email_key').on(sql`lower(${table.email})`).where(sql`${table.deletedAt} is null`),
    index('users_wallet_address_idx').on(sql`lower(${table.walletAddress})`),
  ],
);

export const loginIntents = pgTable(
  'login_intents',
  {
    applicationId: uuid('application_id')
      .notNull()
      .references(() => applications.id),
    id: uuid('id').notNull(),
    redirectUri: text('redirect_uri').notNull(),
    state: text('state').notNull(),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    completedAt: instant('completed_at'),
    userId: uuid('user_id').references(() => users.id),
    /** SHA-256 of the browser that completed the intent on the login page. */
    browserDigest: bytes('browser_digest'),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.id] }),
    index('login_intents_id_idx').on(table.id),
    index('login_intents_expires_at_idx').on(table.expiresAt),
    index('login_intents_user_id_idx').on(table.userId),
  ],
);

/** At most one row, and so at most one live session, per application and user. */
export const sessions = pgTable(
  'sessions',
  {
    applicationId: uuid('application_id')
      .notNull()
      .references(() => applications.id),
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id),
    id: uuid('id').notNull(),
    email: text('email').notNull(),
    name: text('name'),
    profileImage: text('profile_image'),
    walletAddress: text('wallet_address').notNull(),
    ipAddress: text('ip_address').notNull(),
    userAgent: text('user_agent').notNull(),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.userId] }),
    index('sessions_user_id_idx').on(table.userId),
    index('sessions_expires_at_idx').on(table.expiresAt),
  ],
);

/** The first bytes of an encrypted signing key name the encryption key. */
export function encryptionKeyIdOf(signingKey: AnyPgColumn): SQL<Buffer> {
  return sql<Buffer>`substr(${signingKey}, 1, 4)`;
}

export const webhooks = pgTable(
  'webhooks',
  {
    applicationId: uuid('application_id')
      .notNull()
      .references(() => applications.id),
    id: text('id').notNull(),
    url: text('url').notNull(),
    /** Encrypted; see core/webhooks/signing-key-cipher.ts. */
    signingKey: bytes('signing_key').notNull(),
    isActive: boolean('is_active').notNull().default(true),
    ownerId: uuid('owner_id')
      .notNull()
      .references(() => users.id),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.id] }),
    index('webhooks_owner_id_idx').on(table.ownerId),
    // By the ID of the key it is encrypted with, which comes first.
    index('webhooks_encryption_key_idx').on(encryptionKeyIdOf(table.signingKey)),
  ],
);

/** Rows stay for ever, deleted or not: an event ID is given out once. */
export const events = pgTable(
  'events',
  {
    applicationId: uuid('application_id')
      .notNull()
      .references(() => applications.id),
    id: text('id').notNull(),
    name: text('name'),
    createdAt: instant('created_at').notNull(),
    deletedAt: instant('deleted_at'),
  },
  (table) => [primaryKey({ columns: [table.applicationId, table.id] })],
);

export const checkIns = pgTable(
  'check_ins',
  {
    applicationId: uuid('application_id').notNull(),
    eventId: text('event_id').notNull(),
    attendeeId: text('attendee_id').notNull(),
    checkedInAt: instant('checked_in_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.eventId, table.attendeeId] }),
    foreignKey({ columns: [table.applicationId, table.eventId], foreignColumns: [events.applicationId, events.id] }),
  ],
);
