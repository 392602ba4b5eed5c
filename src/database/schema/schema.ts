/**
 * In tables whose rows belong to an application, the primary key begins with `application_id`. So the statements of an
 * application read only its own rows, and the tables can be distributed by application.
 */
import { sql } from 'drizzle-orm';
import { boolean, index, integer, jsonb, pgTable, smallint, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { attributes, bytes, instant, instantRanges, type ResourceScope } from './column-types.ts';
import type { TableFacts } from './table-facts.ts';

/** Returns a user's profile columns, which a session copies. */
export const profileColumns = () => ({
  email: text('email').notNull(),
  name: text('name'),
  profileImage: text('profile_image'),
  /** Empty if the user has none. */
  walletAddress: text('wallet_address').notNull(),
});

/** The lifetime of a session in seconds. Sessions of an application with it cannot be renewed once they have expired. */
export const DEFAULT_IDLE_SECONDS = 900;

/** Whether `APPLICATIONS_FILE` names the row. False once it no longer does; null if it never has, or has released it. */
export const declaredByFileColumn = () => boolean('declared_by_file');

export const applications = pgTable(
  'applications',
  {
    id: uuid('id').primaryKey(),
    name: text('name').notNull(),
    clientId: text('client_id').notNull(),
    redirectUris: text('redirect_uris').array().notNull(),
    allowSignUp: boolean('allow_sign_up').notNull().default(false),
    /** The domains whose addresses may sign up, as A-labels in lower case. Empty for all. */
    signUpEmailDomains: text('sign_up_email_domains').array().notNull().default([]),
    /** Whether it may invite users by its API key, which lets it send e-mails. */
    allowInvitations: boolean('allow_invitations').notNull().default(false),
    askName: boolean('ask_name').notNull().default(false),
    /** Null for the default, SESSION_MAX_AGE. */
    sessionMaxAgeSeconds: integer('session_max_age_seconds'),
    /** How long after its expiry a session can be renewed. The default, the lifetime of a session, means not at all. */
    sessionIdleSeconds: integer('session_idle_seconds').notNull().default(DEFAULT_IDLE_SECONDS),
    /** As `#rrggbb`. */
    accentColor: text('accent_color'),
    termsUri: text('terms_uri'),
    privacyUri: text('privacy_uri'),
    supportUri: text('support_uri'),
    /** Where a user starts a new login. */
    initiateLoginUri: text('initiate_login_uri'),
    /** Empty for all methods that the operator has enabled. */
    loginMethods: text('login_methods').array().notNull().default([]),
    /** Whether it reads its messages over the API, as webhooks get them. */
    messageFeed: boolean('message_feed').notNull().default(false),
    singleSignOn: boolean('single_sign_on').notNull().default(false),
    /** Whether only users in `added_users`, and members of groups with access, may sign in. */
    restrictAccess: boolean('restrict_access').notNull().default(false),
    /** The lowest level of the sign-ins that it accepts. */
    requiredAssurance: smallint('required_assurance').notNull().default(1),
    /** Whether it may use OpenID Connect. */
    openIdConnect: boolean('open_id_connect').notNull().default(false),
    /** Whether its OpenID Connect requests must have a code challenge (RFC 7636). */
    requirePkce: boolean('require_pkce').notNull().default(true),
    /**
     * Whether it runs in browsers or phones, which keep no secret. It needs no client secret, and its refresh tokens
     * rotate.
     */
    publicClient: boolean('public_client').notNull().default(false),
    postLogoutRedirectUris: text('post_logout_redirect_uris').array().notNull().default([]),
    /** Where the application learns that a user was signed out (OpenID Connect Back-Channel Logout). */
    backchannelLogoutUri: text('backchannel_logout_uri'),
    /** The attributes of users that it sees. */
    attributeClaims: text('attribute_claims').array().notNull().default([]),
    /** The resource of OAuth (RFC 8707) that the application is, for which other clients get tokens. Null for none. */
    resourceUri: text('resource_uri'),
    /** Tokens of other clients from before are for another resource, and have ended. */
    resourceUriChangedAt: instant('resource_uri_changed_at'),
    /** What clients may ask for at the resource. */
    resourceScopes: jsonb('resource_scopes').$type<readonly ResourceScope[]>().notNull().default([]),
    /** Whether clients that nobody has registered, whose ID is the URL of their metadata, may ask for tokens. */
    allowMetadataClients: boolean('allow_metadata_clients').notNull().default(false),
    /** The client IDs of the applications that get tokens for the resource. */
    machineClientIds: text('machine_client_ids').array().notNull().default([]),
    /** Whether devices without a browser may sign in (RFC 8628). */
    deviceLogin: boolean('device_login').notNull().default(false),
    /** SHA-256 of the logos in `application_logos`. */
    logoDigest: bytes('logo_digest'),
    darkLogoDigest: bytes('dark_logo_digest'),
    /** Width and height in pixels. */
    logoSize: smallint('logo_size').array(),
    darkLogoSize: smallint('dark_logo_size').array(),
    declaredByFile: declaredByFileColumn(),
    createdAt: instant('created_at').notNull(),
    deletedAt: instant('deleted_at'),
  },
  (table) => [
    uniqueIndex('applications_client_id_key').on(table.clientId),
    uniqueIndex('applications_resource_uri_key')
      .on(sql`rtrim(${table.resourceUri}, '/')`)
      .where(sql`${table.deletedAt} is null`),
    index('applications_name_idx').on(sql`lower(${table.name} collate "C")`).where(sql`${table.deletedAt} is null`),
    index('applications_list_idx').on(table.createdAt, table.id).where(sql`${table.deletedAt} is null`),
    index('applications_declared_by_file_idx')
      .on(table.declaredByFile)
      .where(sql`${table.declaredByFile} is not null and ${table.deletedAt} is null`),
  ],
);

/** Returns the column of the application that a row belongs to. */
export const applicationIdColumn = () =>
  uuid('application_id')
    .notNull()
    .references(() => applications.id);

export const users = pgTable(
  'users',
  {
    id: uuid('id').primaryKey(),
    ...profileColumns(),
    /** The ID of the user in another system. Unique among users who are not deleted. */
    externalId: text('external_id'),
    /** Null for none. */
    attributes: attributes(),
    createdAt: instant('created_at').notNull(),
    /** When the user proved ownership of the e-mail address, by a code. Null again after a change of the address. */
    emailVerifiedAt: instant('email_verified_at'),
    /** When the e-mail address last changed. Later than every change before, even if the clocks of replicas differ. */
    emailChangedAt: instant('email_changed_at'),
    /** When the user added this wallet, and when a passkey or the second factor last went, so that a new one is young. */
    walletLinkedAt: instant('wallet_linked_at'),
    passkeyRemovedAt: instant('passkey_removed_at'),
    /** The links that undo changes of the e-mail address at these instants are void. */
    voidUndoLinks: instantRanges('void_undo_links'),
    /** How many cut-offs have ended every sign-in. Here, because who waits for this row's lock sees the latest values. */
    cutoffCount: integer('cutoff_count').notNull().default(0),
    /** Whether the user has a row in `totp_secrets`, which may not count yet. Here, because every sign-in reads this row. */
    hasSecondFactor: boolean('has_second_factor').notNull().default(false),
    /** A deactivated user cannot sign in. */
    deactivatedAt: instant('deactivated_at'),
    deletedAt: instant('deleted_at'),
  },
  (table) => [
    // Of version 1.0.0, as users_email_prefix_idx: the locale of Postgres decides which letters lower() changes.
    uniqueIndex('users_email_key').on(sql`lower(${table.email})`).where(sql`${table.deletedAt} is null`),
    // Finds users by their address, or by its beginning: in the collation "C", the texts with a prefix are a range.
    uniqueIndex('users_folded_email_key')
      .on(sql`lower(${table.email} collate "C")`)
      .where(sql`${table.deletedAt} is null`),
    uniqueIndex('users_wallet_address_key')
      .on(sql`lower(${table.walletAddress})`)
      .where(sql`${table.deletedAt} is null and ${table.walletAddress} <> ''`),
    index('users_wallet_address_idx').on(sql`lower(${table.walletAddress})`),
    uniqueIndex('users_external_id_key').on(table.externalId).where(sql`${table.deletedAt} is null`),
    // Finds users by the beginning of their name.
    index('users_name_idx')
      .on(sql`lower(${table.name} collate "C")`)
      .where(sql`${table.deletedAt} is null and ${table.name} is not null`),
    index('users_list_idx').on(table.createdAt, table.id).where(sql`${table.deletedAt} is null`),
    index('users_email_prefix_idx').on(sql`(lower(${table.email}) collate "C")`).where(sql`${table.deletedAt} is null`),
  ],
);

export const CORE_TABLES: readonly TableFacts[] = [
  { table: applications, distributedBy: null, expires: [], erasedBy: [] },
  { table: users, distributedBy: null, expires: [], erasedBy: [] },
];
