/**
 * Limits on new codes: each code allows five guesses. A browser or network in which somebody has signed in with the
 * address has permits of its own, so that strangers cannot lock it out. The README of the login page has the odds of a
 * guess.
 */
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { CONSOLE_APPLICATION_ID } from '../core/own-applications.ts';
import type { Browser } from '../sessions/browser.ts';
import { type Familiarity, foldEmail } from './known-origins.ts';
import { type CodeLength, hmac, type LoginCodeKeys, type LoginCodeSettings } from './login-code.ts';
import { networkOf, siteOf } from './network.ts';
import { isExhausted, type RateLimit, takePermit } from './rate-limit.ts';

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

/** Order matters: a refused request must not spend permits that others share. */
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
const SHORT_CODES = { subject: 'short ones', burst: 100, intervalMs: 36 * SECOND_MS };

/** The person who asks for a code. */
export interface Asker {
  readonly familiarity: Familiarity;
  readonly browser: Browser;
  readonly email: string;
}

/**
 * Admits a new code and returns its length. Codes for the console have 8 digits, because operators have more rights.
 *
 * @throws ServiceError `Too many codes`, with the minutes to wait
 */
export async function admitLoginCode(
  call: Call,
  settings: LoginCodeSettings,
  asker: Asker,
  applicationId?: string,
): Promise<CodeLength> {
  for (const limit of LIMITS[asker.familiarity]) await requirePermit(call, settings, asker, limit);
  if (applicationId === CONSOLE_APPLICATION_ID) return 8;
  if (asker.familiarity === 'browser') return 6;
  const { keys, limitFactor } = settings;
  const shortCodes = { ...SHORT_CODES, burst: SHORT_CODES.burst * limitFactor };
  const key = keyOf(keys, SHORT_CODES.subject);
  // Reads without a lock first: under an attack, all requests would wait for the lock of this one row.
  const isShort = !(await isExhausted(call, key, shortCodes)) && (await takePermit(call, key, shortCodes));
  return isShort ? 6 : 8;
}

/**
 * Admits another e-mail with the same code. That allows no more guesses, but a stranger could flood a mailbox.
 *
 * @throws ServiceError `Too many codes`, with the minutes to wait
 */
export async function admitRepetition(call: Call, settings: LoginCodeSettings, asker: Asker): Promise<void> {
  if (asker.familiarity === 'stranger') await requirePermit(call, settings, asker, STRANGERS_FOR_ADDRESS);
}

async function requirePermit(
  call: Call,
  { keys, limitFactor }: LoginCodeSettings,
  { browser, email }: Asker,
  { subjectOf, burst, intervalMs }: CodeLimit,
): Promise<void> {
  const origin: CodeOrigin = {
    email: foldEmail(email),
    browser: browser.digest.toString('hex'),
    network: networkOf(browser.address),
    site: siteOf(browser.address),
  };
  const limit = { burst: burst * limitFactor, intervalMs };
  if (await takePermit(call, keyOf(keys, subjectOf(origin)), limit)) return;
  throw new ServiceError('TOO_MANY_CODES', { figures: { minutes: Math.ceil(intervalMs / MINUTE_MS) } });
}

/** Returns an HMAC, so that nobody with access to the database alone learns who has asked for codes. */
function keyOf([key]: LoginCodeKeys, subject: string): Buffer {
  return hmac(key, `login codes: ${subject}`);
}
