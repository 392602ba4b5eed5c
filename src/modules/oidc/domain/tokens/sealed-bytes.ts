/**
 * Bytes that only Usher can write: they are followed by their HMAC-SHA-256, in base64url. They are readable by anybody.
 */
import { timingSafeEqual } from 'node:crypto';
import { type DerivedKeys, hmac } from '../../../../domain/crypto/derived-keys.ts';
import { decodeBase64Url } from '../../../../encoding/base64url.ts';

/** The first key seals, all verify. */
export type SealKeys = DerivedKeys;

const MAC_BYTES = 32;

export function sealBytes([key]: SealKeys, bytes: Buffer): string {
  return Buffer.concat([bytes, hmac(key, bytes)]).toString('base64url');
}

/** Returns the bytes that were passed to `sealBytes`, or undefined for a text that it did not return. */
export function openBytes(keys: SealKeys, text: string): Buffer | undefined {
  const sealed = decodeBase64Url(text);
  if (!sealed || sealed.length < MAC_BYTES) return undefined;
  const bytes = sealed.subarray(0, -MAC_BYTES);
  const mac = sealed.subarray(-MAC_BYTES);
  return keys.some((key) => timingSafeEqual(hmac(key, bytes), mac)) ? bytes : undefined;
}

/** Returns what only Usher can compute of the bytes. */
export function digestBytes([key]: SealKeys, bytes: Buffer): Buffer {
  return hmac(key, bytes);
}
