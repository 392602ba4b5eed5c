/**
 * Limits on new codes: each code allows five guesses. A browser or network in which somebody has signed in with the
 * address has permits of its own, so that strangers cannot lock it out. The README of the login page has the odds of a
 * guess.
 */

import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { CONSOLE_APPLICATION_ID } from '../core/own-applications.ts';
import { hmac } from '../crypto/derived-keys.ts';
import type { Browser } from '../sessions/browser.ts';
import { type Familiarity, foldEmail } from './known-origins.ts';
import type { CodeLength, LoginCodeSettings } from './login-code.ts';
import { networkOf, siteOf } from './network.ts';
import { type Bucket, type RateLimit, takePermit } from './rate-limit.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

/** Where a request for a code comes from, and its e-mail address as `foldEmail` returns it. */
interface CodeOrigin {
  readonly email: string;
  readonly browser: string;
  readonly network: string;
  readonly site: string;
}

interface CodeLimit extends RateLimit {
  /** Returns what has the permits, such as a network. */
  readonly subjectOf: (origin: CodeOrigin) => string;
}

/** All strangers together may cause 82 e-mails a day to an address. */
const STRANGERS_FOR_ADDRESS: CodeLimit = { subjectOf: ({ email }) => email, burst: 10, intervalMs: 20 * MINUTE_MS };

/** The error names the first that has no permit left. */
const LIMITS: Record<Familiarity, readonly CodeLimit[]> = {
  browser: [{ subjectOf: ({ email, browser }) => `${email} from ${browser}`, burst: 10, intervalMs: 6 * MINUTE_MS }],
  network: [
    { subjectOf: ({ email, network }) => `${email} from ${network}`, burst: 10, intervalMs: 6 * MINUTE_MS },
    { subjectOf: ({ network }) => `known addresses from ${network}`, burst: 100, intervalMs: 36 * SECOND_MS },
  ],
  stranger: [
    { subjectOf: ({ network }) => network, burst: 20, intervalMs: 3 * MINUTE_MS },
    { subjectOf: ({ site }) => site, burst: 100, intervalMs: 36 * SECOND_MS },
    { subjectOf: ({ email, site }) => `${email} from ${site}`, burst: 5, intervalMs: 20 * MINUTE_MS },
    STRANGERS_FOR_ADDRESS,
  ],
};

/** A global limit on codes of 6 digits. It locks nobody out: beyond it, new codes have 8 digits. */
const SHORT_CODES: CodeLimit = { subjectOf: () => 'short ones', burst: 100, intervalMs: 36 * SECOND_MS };

/** The person who asks for a code. */
export interface Asker {
  readonly familiarity: Familiarity;
  readonly browser: Browser;
  readonly email: string;
}

/** The buckets of which a new code takes permits, and the length that it then has. */
export interface CodeAdmission {
  readonly buckets: readonly Bucket[];
  /** How many of the buckets must have a permit. The others, at most one, only make codes short. */
  readonly required: number;
  readonly length: CodeLength;
  /** Without a permit of the last bucket. */
  readonly longer: CodeLength;
}

/** Returns what a new code takes. Codes for the console have 8 digits, because operators have more rights. */
export function admissionOf(settings: LoginCodeSettings, asker: Asker, applicationId?: string): CodeAdmission {
  const own = LIMITS[asker.familiarity].map((limit) => bucketOf(settings, asker, limit));
  const required = own.length;
  if (applicationId === CONSOLE_APPLICATION_ID) return { buckets: own, required, length: 8, longer: 8 };
  if (asker.familiarity === 'browser') return { buckets: own, required, length: 6, longer: 6 };
  const shortCodes = bucketOf(settings, asker, SHORT_CODES);
  return { buckets: [...own, shortCodes], required, length: 6, longer: 8 };
}

/**
 * Admits another e-mail with the same code. That allows no more guesses, but a stranger could flood a mailbox.
 *
 * @throws ServiceError `Too many codes`, with the minutes to wait
 */
export async function admitRepetition(call: Call, settings: LoginCodeSettings, asker: Asker): Promise<void> {
  if (asker.familiarity !== 'stranger') return;
  const { key, ...limit } = bucketOf(settings, asker, STRANGERS_FOR_ADDRESS);
  if (!(await takePermit(call, key, limit))) throw refuseCode(limit);
}

/** Returns the error for a code of a bucket without permits. */
export function refuseCode({ intervalMs }: Pick<Bucket, 'intervalMs'>): ServiceError {
  return new ServiceError('TOO_MANY_CODES', { figures: { minutes: Math.ceil(intervalMs / MINUTE_MS) } });
}

/** The key is an HMAC, so that nobody with access to the database alone learns who has asked for codes. */
function bucketOf(
  { keys: [key], limitFactor }: LoginCodeSettings,
  { browser, email }: Asker,
  { subjectOf, burst, intervalMs }: CodeLimit,
): Bucket {
  const origin: CodeOrigin = {
    email: foldEmail(email),
    browser: browser.digest.toString('hex'),
    network: networkOf(browser.address),
    site: siteOf(browser.address),
  };
  return { key: hmac(key, `login codes: ${subjectOf(origin)}`), burst: burst * limitFactor, intervalMs };
}
