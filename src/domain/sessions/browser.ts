import { sql } from 'drizzle-orm';
import { p } from '../../database/sql/template.ts';

/** In characters. Browsers send about 120. */
const MAX_USER_AGENT = 512;

/**
 * The browser in which a user signs in. Codes and challenges that were created for it are refused in any other browser.
 */
export interface Browser {
  /** SHA-256 of the secret in the cookie of the login page. */
  readonly digest: Buffer;
  /** An IP address. */
  readonly address: string;
  /** The `User-Agent` header. */
  readonly userAgent: string;
  /** SHA-256 of the secret of the login that this request completes. */
  readonly answerDigest: Buffer;
  /** The same of the logins that this browser has completed last. */
  readonly knownAnswers: readonly Buffer[];
}

/** Returns whether this browser has completed the intent. A copy of its cookies from before that has not. */
export function hasCompleted(
  { digest, answerDigest, knownAnswers }: Browser,
  intent: { readonly answerDigest: Buffer | null; readonly browserDigest: Buffer | null },
): boolean {
  const { answerDigest: expected } = intent;
  if (!intent.browserDigest?.equals(digest)) return false;
  // Version 1.0.0 stores no digest of an answer.
  if (!expected) return true;
  return [answerDigest, ...knownAnswers].some((known) => known.equals(expected));
}

/** A login intent as one browser sees it. */
export interface InBrowser {
  readonly applicationId: string;
  readonly loginIntentId: string;
  readonly browserDigest: Buffer;
}

/** Whether a row belongs to this login in this browser. Parameters: all of `InBrowser`. */
export const isInBrowser = sql`application_id = ${p.uuid('applicationId')}
    and login_intent_id = ${p.uuid('loginIntentId')} and browser_digest = ${p.bytes('browserDigest')}`;

/** The browser of a sign-in, as a login intent stores it. The session that follows shows its address and user agent. */
export interface SignInOrigin {
  /** Null if the user signed in on a page other than Usher's. */
  readonly browserDigest: Buffer | null;
  /** Null if the browser got no secret, as on such a page. */
  readonly answerDigest: Buffer | null;
  /** Null, like the user agent, if that other page did not pass it on to `CompleteLogin`. */
  readonly ipAddress: string | null;
  readonly userAgent: string | null;
}

export function toSignInOrigin({ digest, answerDigest, address, userAgent }: Browser): SignInOrigin {
  return { browserDigest: digest, answerDigest, ipAddress: address, userAgent: shortenUserAgent(userAgent) };
}

/** Returns at most 512 characters, because clients may send far more. */
export function shortenUserAgent(userAgent: string): string {
  return userAgent.slice(0, MAX_USER_AGENT).toWellFormed();
}
