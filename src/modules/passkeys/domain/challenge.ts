/**
 * Challenges of WebAuthn. They are signed instead of stored, because every view of the page needs a challenge, and a
 * row for each would be a write per anonymous request. A challenge is valid for one login intent in one browser, and an
 * intent is completed once. So a replayed answer is worthless, which a signature alone would not achieve.
 */

import { type KeyObject, timingSafeEqual } from 'node:crypto';
import { type DerivedKeys, hmac } from '../../../domain/crypto/derived-keys.ts';
import { INTENT_LIFETIME_MS } from '../../../domain/login/generate-auth-url.ts';
import { RECENT_MINUTES } from '../../../domain/login/sign-in-age.ts';
import type { Browser } from '../../../domain/sessions/browser.ts';

/** A sign-in may begin at any time of the login: browsers suggest passkeys on a page that has been idle. */
const LIFETIMES_MS = { 'passkey get': INTENT_LIFETIME_MS, 'passkey create': RECENT_MINUTES * 60_000 };
const INSTANT_BYTES = 6;

export interface ChallengeUse {
  /** Whether to sign in or to create a passkey. An answer for one purpose is refused for the other. */
  readonly purpose: 'passkey get' | 'passkey create';
  readonly loginIntentId: string;
  readonly browser: Browser;
  /** The user who creates a passkey. Undefined for a sign-in, before which the user is not known. */
  readonly userId?: string;
}

/** Returns a challenge in base64url. */
export function createChallenge([key]: DerivedKeys, use: ChallengeUse, now: Date): string {
  const instant = Buffer.alloc(INSTANT_BYTES);
  instant.writeUIntBE(now.getTime(), 0, INSTANT_BYTES);
  return Buffer.concat([instant, authenticate(key, use, instant)]).toString('base64url');
}

/** Returns whether Usher created the challenge for this use in the lifetime of such challenges. Compares in constant time. */
export function isChallenge(keys: DerivedKeys, challenge: string, use: ChallengeUse, now: Date): boolean {
  const bytes = Buffer.from(challenge, 'base64url');
  const instant = bytes.subarray(0, INSTANT_BYTES);
  const given = bytes.subarray(INSTANT_BYTES);
  const isOurs = keys.some((key) => {
    const expected = authenticate(key, use, instant);
    return expected.length === given.length && timingSafeEqual(expected, given);
  });
  // The instant may be in the future, because the clock of the replica that created it may be ahead.
  return isOurs && now.getTime() - instant.readUIntBE(0, INSTANT_BYTES) < LIFETIMES_MS[use.purpose];
}

function authenticate(key: KeyObject | undefined, use: ChallengeUse, instant: Buffer): Buffer {
  const { purpose, loginIntentId, browser, userId = '' } = use;
  // No part contains a colon, so different uses have different texts.
  const text = [purpose, loginIntentId.toLowerCase(), browser.digest.toString('hex'), userId, instant.toString('hex')];
  return hmac(key, text.join(':'));
}
