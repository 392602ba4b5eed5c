import { sql } from 'drizzle-orm';
import { boolean, index, integer, pgTable, primaryKey, smallint, text, uuid } from 'drizzle-orm/pg-core';
import { bytes, instant } from './column-types.ts';
import { applicationIdColumn, users } from './schema.ts';
import type { TableFacts } from './table-facts.ts';

export const loginIntents = pgTable(
  'login_intents',
  {
    applicationId: applicationIdColumn(),
    id: uuid('id').notNull(),
    redirectUri: text('redirect_uri').notNull(),
    state: text('state').notNull(),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    /** `LOGIN` or `PASSKEYS`, or empty. */
    prompt: text('prompt').notNull().default(''),
    /** The oldest sign-in that the application accepts. */
    maxAgeSeconds: integer('max_age_seconds'),
    /** The lowest level that the login demands. It may raise that of the application. */
    requiredAssurance: smallint('required_assurance').notNull().default(1),
    completedAt: instant('completed_at'),
    /** When the user signed in. Null if that was when the intent was completed. */
    authenticatedAt: instant('authenticated_at'),
    userId: uuid('user_id').references(() => users.id),
    /** How the user signed in. Null until the intent is completed. */
    method: text('method'),
    /** How surely that shows who the user is: a level of `assurance.ts`. Null until the intent is completed. */
    assurance: smallint('assurance'),
    passkeyId: uuid('passkey_id'),
    /** A printed link of the console proves that this user is at the browser. A passkey added here counts in full. */
    vouchedUserId: uuid('vouched_user_id'),
    /** SHA-256 of the browser that completed the intent on the login page. */
    browserDigest: bytes('browser_digest'),
    /**
     * SHA-256 of the secret that this browser got at the completion. Null on a page other than Usher's, and if
     * version 1.0.0 has completed the intent.
     */
    answerDigest: bytes('answer_digest'),
    /** The user's address at the sign-in, which the session copies. Null if the login page has not sent it. */
    ipAddress: text('ip_address'),
    userAgent: text('user_agent'),
    /** Who has signed in on behalf of the user. Null for a sign-in of the user. */
    onBehalfBy: text('on_behalf_by'),
    /** The languages that the application wants the login page in: BCP 47 tags, separated by spaces. */
    locale: text('locale'),
    /**
     * How OpenID Connect returns the code: `query` or `form_post`. `device` for a device that asks for its tokens (RFC
     * 8628): its intent has an ID that is made of the device code. Empty for an intent that returns an auth token.
     */
    responseMode: text('response_mode').notNull().default(''),
    /** The scopes of the OpenID Connect request, as bits. */
    scope: smallint('scope'),
    nonce: text('nonce'),
    /** SHA-256 of the code verifier (RFC 7636). */
    codeChallenge: bytes('code_challenge'),
    /** The client, if that is not the application itself: then the application is the resource of its tokens. */
    clientId: text('client_id'),
    /** The name in the metadata of a client that nobody has registered. The user must consent to such a client. */
    clientName: text('client_name'),
    /** What the client asks for at the resource. Null for none. */
    scopeNames: text('scope_names').array(),
    /** Whether to ask for consent although it is remembered. */
    askConsent: boolean('ask_consent').notNull().default(false),
    consentedAt: instant('consented_at'),
    /** When the code was exchanged for tokens. */
    redeemedAt: instant('redeemed_at'),
    /** HMAC-SHA-256 of the code that the device shows. Null, like the following, unless a device has begun the login. */
    userCodeDigest: bytes('user_code_digest'),
    /** The network of the device, as `networkOf` returns it. */
    startedFrom: text('started_from'),
    /** What the person has decided about the device. Null until then. */
    approved: boolean('approved'),
    /** How long the device has to wait between two questions. */
    pollSeconds: integer('poll_seconds'),
    polledAt: instant('polled_at'),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.id] }),
    index('login_intents_id_idx').on(table.id),
    index('login_intents_expires_at_idx').on(table.expiresAt),
    index('login_intents_user_id_idx').on(table.userId),
    index('login_intents_user_code_idx').on(table.userCodeDigest).where(sql`${table.userCodeDigest} is not null`),
    index('login_intents_devices_idx')
      .on(table.applicationId, table.expiresAt)
      .where(sql`${table.userCodeDigest} is not null`),
  ],
);

/** Until then a late login gets `Login intent expired` instead of `Login intent not found`. */
const INTENT_GRACE_MS = 60 * 60_000;

export const INTENT_TABLES: readonly TableFacts[] = [
  {
    table: loginIntents,
    distributedBy: loginIntents.id,
    expires: [{ expiresAt: loginIntents.expiresAt, graceMs: INTENT_GRACE_MS }],
    erasedBy: [],
  },
];
