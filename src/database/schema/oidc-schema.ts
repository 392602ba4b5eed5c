import { sql } from 'drizzle-orm';
import { boolean, index, integer, pgTable, primaryKey, smallint, text, uuid } from 'drizzle-orm/pg-core';
import { bytes, instant } from './column-types.ts';
import type { TableFacts } from './table-facts.ts';

/**
 * The sign-ins for which applications have tokens of OpenID Connect. Like a session, a grant ends when it expires, or
 * by a cut-off. A statement that ends a single grant sets its expiry to 1969. Refreshes of confidential clients only
 * read it.
 */
export const oidcGrants = pgTable(
  'oidc_grants',
  {
    applicationId: uuid('application_id').notNull(),
    /** The ID of the login intent whose code was redeemed. */
    id: uuid('id').notNull(),
    userId: uuid('user_id').notNull(),
    /** The session ID of OpenID Connect: the same for all sign-ins of a user to the application in one browser. */
    sid: uuid('sid').notNull(),
    scope: smallint('scope').notNull(),
    /** The client, if that is not the application itself: then the application is the resource of its tokens. */
    clientId: text('client_id'),
    /** The name in the metadata of a client that nobody has registered. */
    clientName: text('client_name'),
    /** Whether its tokens end without a row in `consents`. Others were consented to for this grant alone. */
    needsConsent: boolean('needs_consent').notNull().default(false),
    /** What the client may do at the resource. Null for none. */
    scopeNames: text('scope_names').array(),
    method: text('method').notNull(),
    /** As in `login_intents`. */
    assurance: smallint('assurance').notNull().default(1),
    ipAddress: text('ip_address').notNull(),
    userAgent: text('user_agent').notNull(),
    /** SHA-256 of the browser of the sign-in. Null for a device, and on a page other than Usher's. */
    browserDigest: bytes('browser_digest'),
    /** As in `sessions`. */
    onBehalfBy: text('on_behalf_by'),
    authenticatedAt: instant('authenticated_at').notNull(),
    /**
     * The number of the current refresh token of a public client, from 1. 0 for a confidential client, whose token
     * stays.
     */
    rotation: integer('rotation').notNull(),
    rotatedAt: instant('rotated_at'),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    /** When a statement has ended this grant alone. */
    endedAt: instant('ended_at'),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.id] }),
    index('oidc_grants_list_idx').on(table.applicationId, table.createdAt, table.id),
    index('oidc_grants_user_id_idx').on(table.userId),
    index('oidc_grants_client_id_idx')
      .on(table.applicationId, table.clientId)
      .where(sql`${table.clientId} is not null`),
    index('oidc_grants_expires_at_idx').on(table.expiresAt),
    index('oidc_grants_ended_at_idx').on(table.endedAt, table.applicationId).where(sql`${table.endedAt} is not null`),
  ],
);

/** What users let clients do that nobody has registered, so that they are not asked again. */
export const consents = pgTable(
  'consents',
  {
    userId: uuid('user_id').notNull(),
    /** The resource. */
    applicationId: uuid('application_id').notNull(),
    /** The URL of the client's metadata. */
    clientId: text('client_id').notNull(),
    clientName: text('client_name').notNull(),
    /** Of OpenID Connect and of the resource. */
    scopeNames: text('scope_names').array().notNull(),
    createdAt: instant('created_at').notNull(),
    /** The sign-in in which it was given: what ends all sign-ins of the user up to then ends it, too. */
    authenticatedAt: instant('authenticated_at'),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.userId, table.clientId] }),
    index('consents_user_id_idx').on(table.userId),
  ],
);

export const OIDC_TABLES: readonly TableFacts[] = [
  {
    table: oidcGrants,
    distributedBy: oidcGrants.applicationId,
    expires: [
      { expiresAt: oidcGrants.expiresAt },
      // Readers of revocations have not asked for up to 20 minutes.
      { expiresAt: oidcGrants.endedAt, graceMs: 30 * 60_000 },
    ],
    erasedBy: ['user'],
  },
  { table: consents, distributedBy: consents.applicationId, expires: [], erasedBy: ['user'] },
];
