/** The codes sent by e-mail. A million are quickly tried, so at rest they are keyed hashes. */
import { createHmac, hkdfSync, randomInt, timingSafeEqual } from 'node:crypto';

/** The first makes digests, all are tried. */
export type LoginCodeKeys = readonly Buffer[];

/** From the encryption keys, so that both rotate together. */
export function deriveLoginCodeKeys(encryptionKeys: readonly Buffer[]): LoginCodeKeys {
  return encryptionKeys.map((key) => Buffer.from(hkdfSync('sha256', key, '', 'usher login code', 32)));
}

export function generateLoginCode(): string {
  return String(randomInt(1_000_000)).padStart(6, '0');
}

/** HMAC-SHA-256. `id` is the code's own, so that equal codes have different digests. */
export function digestLoginCode([key]: LoginCodeKeys, id: string, code: string): Buffer {
  if (!key) throw new Error('There is no key to hash login codes with');
  return createHmac('sha256', key).update(`${id}:${code}`).digest();
}

/** Whether the digest is the code's, with any of the keys; in constant time. */
export function isLoginCode(keys: LoginCodeKeys, id: string, code: string, digest: Buffer): boolean {
  return keys.some((key) => timingSafeEqual(digestLoginCode([key], id, code), digest));
}
