/**
 * Codes sent by e-mail. All possible codes can be tried, so the database holds HMACs instead of plain hashes. A code is
 * derived from its ID, so that Usher can send it again without storing it.
 */
import { timingSafeEqual } from 'node:crypto';
import { type DerivedKeys, deriveKeys, hmac } from '../crypto/derived-keys.ts';

/** How long a code is valid. */
export const LOGIN_CODE_MINUTES = 10;

/** The first key creates codes and digests, all keys verify them. */
export type LoginCodeKeys = DerivedKeys;

export interface LoginCodeSettings {
  readonly keys: LoginCodeKeys;
  /** Multiplies the permits of every limit. */
  readonly limitFactor: number;
}

export function deriveLoginCodeKeys(encryptionKeys: readonly Buffer[]): LoginCodeKeys {
  return deriveKeys(encryptionKeys, 'login code');
}

/** In digits. Codes have eight when many are sent. */
const LENGTHS = [6, 8] as const;
export type CodeLength = (typeof LENGTHS)[number];

export function deriveLoginCode([key]: LoginCodeKeys, id: string, length: CodeLength): string {
  const number = hmac(key, `digits of ${id}`).readUIntBE(0, 6);
  return String(number % 10 ** length).padStart(length, '0');
}

/** Returns the code with this ID and digest, or undefined if its encryption key was removed. */
export function recoverLoginCode(keys: LoginCodeKeys, id: string, digest: Buffer): string | undefined {
  const candidates = keys.flatMap((key) => LENGTHS.map((length) => deriveLoginCode([key], id, length)));
  return candidates.find((code) => isLoginCode(keys, id, code, digest));
}

/** Returns an HMAC-SHA-256 of the code and its ID: equal codes have different digests. */
export function digestLoginCode([key]: LoginCodeKeys, id: string, code: string): Buffer {
  return hmac(key, `${id}:${code}`);
}

/** Returns whether any key gives this digest for the code. Compares in constant time. */
export function isLoginCode(keys: LoginCodeKeys, id: string, code: string, digest: Buffer): boolean {
  return keys.some((key) => timingSafeEqual(digestLoginCode([key], id, code), digest));
}
