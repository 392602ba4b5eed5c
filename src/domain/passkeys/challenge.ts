/**
 * Challenges of WebAuthn, without a table: every view of the page needs one, and a row for each would be a write per
 * anonymous request. A challenge is good for one login intent in one browser, and the statement that completes an intent
 * does so once. So a replayed answer is worthless, unlike one to a challenge that is merely signed.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Browser } from '../login/browser.ts';

const LIFETIME_MS = 10 * 60_000;
const INSTANT_BYTES = 6;

export interface ChallengeUse {
  /** Signing in, or making a passkey. An answer to one is none to the other. */
  readonly purpose: 'passkey get' | 'passkey create';
  readonly loginIntentId: string;
  readonly browser: Browser;
  /** The user who makes a passkey. Nobody is known before a sign-in. */
  readonly userId?: string;
}

/** Returns a challenge in base64url. */
export function createChallenge([key]: readonly Buffer[], use: ChallengeUse, now: Date): string {
  const instant = Buffer.alloc(INSTANT_BYTES);
  instant.writeUIntBE(now.getTime(), 0, INSTANT_BYTES);
  return Buffer.concat([instant, authenticate(key, use, instant)]).toString('base64url');
}

/** Returns whether Usher has made the challenge for this use in the last 10 minutes. Compares in constant time. */
export function isChallenge(keys: readonly Buffer[], challenge: string, use: ChallengeUse, now: Date): boolean {
  const bytes = Buffer.from(challenge, 'base64url');
  const instant = bytes.subarray(0, INSTANT_BYTES);
  const given = bytes.subarray(INSTANT_BYTES);
  const isOurs = keys.some((key) => {
    const expected = authenticate(key, use, instant);
    return expected.length === given.length && timingSafeEqual(expected, given);
  });
  // Not before the HMAC: another replica may have made it, whose clock is slightly ahead.
  return isOurs && now.getTime() - instant.readUIntBE(0, INSTANT_BYTES) < LIFETIME_MS;
}

function authenticate(key: Buffer | undefined, use: ChallengeUse, instant: Buffer): Buffer {
  if (!key) throw new Error('There is no key for challenges of passkeys');
  const { purpose, loginIntentId, browser, userId = '' } = use;
  // IDs have no colon, so no two uses have the same text.
  const text = [purpose, loginIntentId.toLowerCase(), browser.digest.toString('hex'), userId, instant.toString('hex')];
  return createHmac('sha256', key).update(text.join(':')).digest();
}
