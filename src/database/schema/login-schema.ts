import { sql } from 'drizzle-orm';
import { bigint, boolean, index, pgTable, primaryKey, smallint, text, uuid } from 'drizzle-orm/pg-core';
import { bytes, instant } from './column-types.ts';
import { applications } from './schema.ts';
import type { TableFacts } from './table-facts.ts';

/**
 * The logos of the login page. `applications` also has their digests and sizes, so a page needs no second statement.
 */
export const applicationLogos = pgTable(
  'application_logos',
  {
    applicationId: uuid('application_id')
      .notNull()
      .references(() => applications.id),
    /** `light` or `dark`. */
    theme: text('theme').notNull(),
    /** SHA-256 of the image. */
    digest: bytes('digest').notNull(),
    mediaType: text('media_type').notNull(),
    /** In pixels, like the height. */
    width: smallint('width').notNull(),
    height: smallint('height').notNull(),
    image: bytes('image').notNull(),
  },
  (table) => [primaryKey({ columns: [table.applicationId, table.theme] })],
);

/**
 * Login codes. They expire before their login intents, so a foreign key would protect nothing, and would make the
 * removal of an intent cost eight times as much. Unknown e-mail addresses also get rows, so that the response time
 * reveals nothing.
 */
export const loginCodes = pgTable(
  'login_codes',
  {
    applicationId: uuid('application_id').notNull(),
    loginIntentId: uuid('login_intent_id').notNull(),
    id: uuid('id').notNull(),
    /**
     * Null if no user has the address. Not a foreign key: the time of its check would reveal whether there is a user.
     * No row is orphaned, because rows of users are never removed.
     */
    userId: uuid('user_id'),
    /** As the user typed it. */
    email: text('email').notNull(),
    /** A wallet whose ownership this browser has proved. It is linked to the user who enters the code. */
    walletAddress: text('wallet_address'),
    /** An identity in `proved_identities` of this browser. It is linked to the user who enters the code. */
    identityId: uuid('identity_id'),
    browserDigest: bytes('browser_digest').notNull(),
    codeDigest: bytes('code_digest').notNull(),
    /** How many e-mails with the code were sent. */
    sends: smallint('sends').notNull().default(1),
    /** Whether the last e-mail with the code could not be sent. */
    isUnsent: boolean('is_unsent').notNull().default(false),
    attempts: smallint('attempts').notNull().default(0),
    /** Whether the right code was entered in time. */
    isRedeemed: boolean('is_redeemed').notNull().default(false),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.loginIntentId, table.id] }),
    index('login_codes_expires_at_idx').on(table.expiresAt),
    index('login_codes_email_idx').on(sql`lower(${table.email})`),
    index('login_codes_user_id_idx').on(table.userId).where(sql`${table.userId} is not null`),
  ],
);

/** Messages that wallets were asked to sign. Like login codes, they need no foreign key. */
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
    /** Whether the wallet has signed the message. Only rows of wallets without a user are kept after that. */
    isProved: boolean('is_proved').notNull().default(false),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.loginIntentId, table.id] }),
    index('wallet_challenges_expires_at_idx').on(table.expiresAt),
    index('wallet_challenges_address_idx').on(table.address),
  ],
);

/** Leaky buckets of rate-limited actions. All applications share them. */
export const rateLimits = pgTable(
  'rate_limits',
  {
    /** A hash of the limited subject: an HMAC-SHA-256 where that is an e-mail address. */
    key: bytes('key').primaryKey(),
    /**
     * When the bucket is empty, in milliseconds since 1970. Unlike that of instants, integer arithmetic is immutable,
     * as Citus demands.
     */
    emptyMs: bigint('empty_ms', { mode: 'number' }).notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [index('rate_limits_expires_at_idx').on(table.expiresAt)],
);

/** The browsers and networks in which someone has signed in with an e-mail address. */
export const knownOrigins = pgTable(
  'known_origins',
  {
    /** HMAC-SHA-256 of the address and the browser or network. */
    key: bytes('key').primaryKey(),
    /** Who signed in. An erasure of the user removes the row. */
    userId: uuid('user_id').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    index('known_origins_expires_at_idx').on(table.expiresAt),
    index('known_origins_user_id_idx').on(table.userId),
  ],
);

/** E-mail addresses whose owners have muted codes that strangers request. */
export const mutedAddresses = pgTable(
  'muted_addresses',
  {
    /**
     * 16 bytes of the HMAC-SHA-256 of the address. The row has no user ID, because addresses without a user can be
     * muted, too.
     */
    key: bytes('key').primaryKey(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [index('muted_addresses_expires_at_idx').on(table.expiresAt)],
);

/** The sign-ins that a browser can reuse in applications with `single_sign_on`. */
export const rememberedSignIns = pgTable(
  'remembered_sign_ins',
  {
    /** SHA-256 of the browser's cookie. */
    tokenDigest: bytes('token_digest').primaryKey(),
    userId: uuid('user_id').notNull(),
    /** The browser, as in login intents. Null if version 1.0.0 has remembered the sign-in. */
    browserDigest: bytes('browser_digest'),
    /** Null, like the user agent, if version 2.0.0 or an older one has remembered the sign-in. */
    ipAddress: text('ip_address'),
    userAgent: text('user_agent'),
    method: text('method').notNull(),
    /** As in `login_intents`. */
    assurance: smallint('assurance').notNull().default(1),
    authenticatedAt: instant('authenticated_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    index('remembered_sign_ins_user_id_idx').on(table.userId),
    index('remembered_sign_ins_expires_at_idx').on(table.expiresAt),
  ],
);

export const LOGIN_TABLES: readonly TableFacts[] = [
  { table: applicationLogos, distributedBy: applicationLogos.applicationId, expires: [], erasedBy: [] },
  // The login page knows only the ID of the intent. The rows of a login may have an earlier address of the user, and the
  // code of a sign-up has no user ID.
  {
    table: loginCodes,
    distributedBy: loginCodes.loginIntentId,
    expires: [{ expiresAt: loginCodes.expiresAt }],
    erasedBy: ['user', 'login'],
  },
  {
    table: walletChallenges,
    distributedBy: walletChallenges.loginIntentId,
    expires: [{ expiresAt: walletChallenges.expiresAt }],
    erasedBy: ['login'],
  },
  { table: rateLimits, distributedBy: rateLimits.key, expires: [{ expiresAt: rateLimits.expiresAt }], erasedBy: [] },
  {
    table: knownOrigins,
    distributedBy: knownOrigins.key,
    expires: [{ expiresAt: knownOrigins.expiresAt }],
    erasedBy: ['user'],
  },
  {
    table: mutedAddresses,
    distributedBy: mutedAddresses.key,
    expires: [{ expiresAt: mutedAddresses.expiresAt }],
    erasedBy: [],
  },
  {
    table: rememberedSignIns,
    distributedBy: rememberedSignIns.tokenDigest,
    expires: [{ expiresAt: rememberedSignIns.expiresAt }],
    erasedBy: ['user'],
  },
];
