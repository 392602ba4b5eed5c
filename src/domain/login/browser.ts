import { sql } from 'drizzle-orm';
import { p } from '../../database/template.ts';

/** Browsers send some 120 characters. */
const MAX_USER_AGENT = 512;

/** The browser that a user signs in with. Codes and challenges of one browser are useless in another. */
export interface Browser {
  /** SHA-256 of the secret in its cookie. */
  readonly digest: Buffer;
  /** Its IP address. */
  readonly address: string;
  /** What it calls itself. */
  readonly userAgent: string;
}

export interface InBrowser {
  readonly applicationId: string;
  readonly loginIntentId: string;
  readonly browserDigest: Buffer;
}

/** Whether a row is of the login in the browser. Parameters: all of `InBrowser`. */
export const isInBrowser = sql`application_id = ${p.uuid('applicationId')}
    and login_intent_id = ${p.uuid('loginIntentId')} and browser_digest = ${p.bytes('browserDigest')}`;

/** Where a user signs in, as a login intent stores it. The session that follows shows address and user agent. */
export interface SignInOrigin {
  /** Of the browser that the login page was shown to. Null on another page. */
  readonly browserDigest: Buffer | null;
  /** Null, like the user agent, if another page has not passed it on. */
  readonly ipAddress: string | null;
  readonly userAgent: string | null;
}

export function toSignInOrigin({ digest, address, userAgent }: Browser): SignInOrigin {
  return { browserDigest: digest, ipAddress: address, userAgent: shortenUserAgent(userAgent) };
}

/** Returns at most 512 characters: anybody can send more. */
export function shortenUserAgent(userAgent: string): string {
  return userAgent.slice(0, MAX_USER_AGENT).toWellFormed();
}
