/** Codes sent by e-mail. There are only a million, so the database holds keyed hashes. */
import { createHmac, hkdfSync, randomInt, timingSafeEqual } from 'node:crypto';

/** The first key creates digests, all verify. */
export type LoginCodeKeys = readonly Buffer[];

/** Derives the keys from the encryption keys, so that both rotate together. */
export function deriveLoginCodeKeys(encryptionKeys: readonly Buffer[]): LoginCodeKeys {
  return encryptionKeys.map((key) => Buffer.from(hkdfSync('sha256', key, '', 'usher login code', 32)));
}

export function generateLoginCode(): string {
  return String(randomInt(1_000_000)).padStart(6, '0');
}

/** Returns an HMAC-SHA-256. The ID of the code makes digests of equal codes differ. */
export function digestLoginCode([key]: LoginCodeKeys, id: string, code: string): Buffer {
  if (!key) throw new Error('There is no key to hash login codes with');
  return createHmac('sha256', key).update(`${id}:${code}`).digest();
}

/** Returns whether the digest is that of the code under any of the keys. Compares in constant time. */
export function isLoginCode(keys: LoginCodeKeys, id: string, code: string, digest: Buffer): boolean {
  return keys.some((key) => timingSafeEqual(digestLoginCode([key], id, code), digest));
}
