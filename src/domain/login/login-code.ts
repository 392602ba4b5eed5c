/**
 * Codes sent by e-mail. There are few enough to try all, so the database holds keyed hashes. A code is derived from
 * its ID, so that it can be sent again.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { deriveKeys } from '../derive-keys.ts';

/** The first key creates digests, all verify. */
export type LoginCodeKeys = readonly Buffer[];

export interface LoginCodeSettings {
  readonly keys: LoginCodeKeys;
  readonly limitFactor: number;
}

export function deriveLoginCodeKeys(encryptionKeys: readonly Buffer[]): LoginCodeKeys {
  return deriveKeys(encryptionKeys, 'login code');
}

/** Six digits, or eight when many codes are sent. */
const LENGTHS = [6, 8] as const;
export type CodeLength = (typeof LENGTHS)[number];

export function deriveLoginCode([key]: LoginCodeKeys, id: string, length: CodeLength): string {
  const number = hmac(key, `digits of ${id}`).readUIntBE(0, 6);
  return String(number % 10 ** length).padStart(length, '0');
}

/** Returns the code with this ID and digest, or undefined if its key is gone. */
export function recoverLoginCode(keys: LoginCodeKeys, id: string, digest: Buffer): string | undefined {
  const candidates = keys.flatMap((key) => LENGTHS.map((length) => deriveLoginCode([key], id, length)));
  return candidates.find((code) => isLoginCode(keys, id, code, digest));
}

/** Returns an HMAC-SHA-256. The ID of the code makes digests of equal codes differ. */
export function digestLoginCode([key]: LoginCodeKeys, id: string, code: string): Buffer {
  return hmac(key, `${id}:${code}`);
}

/** Returns whether the digest is that of the code under any of the keys. Compares in constant time. */
export function isLoginCode(keys: LoginCodeKeys, id: string, code: string, digest: Buffer): boolean {
  return keys.some((key) => timingSafeEqual(digestLoginCode([key], id, code), digest));
}

/** Returns an HMAC-SHA-256, so that nobody without the key can guess the text. */
export function hmac(key: Buffer | undefined, text: string): Buffer {
  if (!key) throw new Error('There is no key for login codes');
  return createHmac('sha256', key).update(text).digest();
}
