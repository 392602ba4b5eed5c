/**
 * The codes of a device login (RFC 8628): the device keeps the one, and shows the other to the person. The database
 * holds digests of both: HMACs, because all user codes can be tried.
 */
import { randomBytes, randomInt } from 'node:crypto';
import { type DerivedKeys, hmac } from '../../../../domain/crypto/derived-keys.ts';
import { toUuid } from '../../../../encoding/uuid-bytes.ts';

/** RFC 8628, section 6.1: consonants form no words, and are in no need of a shift key. 8 of 20 are 34 bits. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const USER_CODE = new RegExp(`^[${LETTERS}]{8}$`);
/** The `grant_type` of a device. */
export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

const PREFIX = 'udc_';

export function createDeviceCode(): string {
  return PREFIX + randomBytes(32).toString('base64url');
}

/** Returns a code as the device shows it, such as `BCDF-GHJK`. */
export function createUserCode(): string {
  const letters = Array.from({ length: 8 }, () => LETTERS[randomInt(LETTERS.length)]).join('');
  return `${letters.slice(0, 4)}-${letters.slice(4)}`;
}

/** Returns the letters of a typed code, or undefined if the text is none. Other characters do not count. */
export function readUserCode(text: string): string | undefined {
  const letters = text
    .slice(0, 100)
    .normalize('NFKC')
    .toUpperCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
  return USER_CODE.test(letters) ? letters : undefined;
}

/** Returns the digests of a user code. A new login gets the first. */
export function digestUserCode(keys: DerivedKeys, code: string): readonly Buffer[] {
  return keys.map((key) => hmac(key, `user code: ${readUserCode(code)}`));
}

/**
 * Returns the IDs that the login of a device code may have; a new one gets the first. The ID is a digest, so that a poll
 * finds its row by the primary key, and that nobody who has the code can open the login page behind the page that asks.
 */
export function loginIntentIdsOf(keys: DerivedKeys, deviceCode: string): readonly string[] {
  return keys.map((key) => toUuid(hmac(key, `device code: ${deviceCode}`).subarray(0, 16)));
}
