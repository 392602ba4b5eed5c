/**
 * Limits on new codes, since each one may be guessed five times. A browser or network that has signed in with the
 * address has permits of its own, so that strangers cannot lock it out. The README of the login page has the odds.
 */
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import type { Browser } from './browser.ts';
import { type Familiarity, findFamiliarity, foldEmail } from './known-origins.ts';
import { type CodeLength, hmac, type LoginCodeSettings } from './login-code.ts';
import { networkOf, siteOf } from './network.ts';
import { isExhausted, type RateLimit, takePermit } from './rate-limit.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

/** Who asks for a code: where, and for which address, in one spelling. */
interface Origin {
  readonly address: string;
  readonly browser: string;
  readonly network: string;
  readonly site: string;
}

interface CodeLimit extends RateLimit {
  readonly subjectOf: (origin: Origin) => string;
}

/** Order matters: a refused request must not spend permits that others share. */
const LIMITS: Record<Familiarity, readonly CodeLimit[]> = {
  browser: [
    { subjectOf: ({ address, browser }) => `${address} from ${browser}`, burst: 10, intervalMs: 6 * MINUTE_MS },
  ],
  network: [
    { subjectOf: ({ address, network }) => `${address} from ${network}`, burst: 10, intervalMs: 6 * MINUTE_MS },
    { subjectOf: ({ network }) => `known addresses from ${network}`, burst: 100, intervalMs: 36 * SECOND_MS },
  ],
  stranger: [
    { subjectOf: ({ network }) => network, burst: 20, intervalMs: 3 * MINUTE_MS },
    { subjectOf: ({ site }) => site, burst: 100, intervalMs: 36 * SECOND_MS },
    { subjectOf: ({ address, site }) => `${address} from ${site}`, burst: 5, intervalMs: 20 * MINUTE_MS },
    { subjectOf: ({ address }) => address, burst: 10, intervalMs: 20 * MINUTE_MS },
  ],
};

/** A global limit, which locks nobody out: beyond it new codes get 8 digits. */
const SHORT_CODES = { subject: 'short ones', burst: 100, intervalMs: 36 * SECOND_MS };

/**
 * Admits a new code and returns its length.
 *
 * @throws ServiceError `Too many codes`
 */
export async function admitLoginCode(
  call: Call,
  { keys, limitFactor: factor }: LoginCodeSettings,
  browser: Browser,
  email: string,
): Promise<CodeLength> {
  const familiarity = await findFamiliarity(call, keys, browser, email);
  const origin: Origin = {
    address: foldEmail(email),
    browser: browser.digest.toString('hex'),
    network: networkOf(browser.address),
    site: siteOf(browser.address),
  };
  // So that nobody without the key can find out who has asked for codes.
  const keyOf = (subject: string) => hmac(keys[0], `login codes: ${subject}`);
  for (const { subjectOf, burst, intervalMs } of LIMITS[familiarity]) {
    const isFree = await takePermit(call, keyOf(subjectOf(origin)), { burst: burst * factor, intervalMs });
    if (!isFree) throw new ServiceError('TOO_MANY_CODES');
  }
  if (familiarity === 'browser') return 6;
  const shortCodes = { ...SHORT_CODES, burst: SHORT_CODES.burst * factor };
  const key = keyOf(SHORT_CODES.subject);
  // Asked first, because under an attack all would wait for the lock of this one row.
  const isShort = !(await isExhausted(call, key, shortCodes)) && (await takePermit(call, key, shortCodes));
  return isShort ? 6 : 8;
}
