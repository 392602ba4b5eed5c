/** Keys for each purpose, derived from the encryption keys, and what is made with them. */
import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { deriveFromEach } from './encryption-keys.ts';

/** The first key creates, and all keys verify. They are objects: with bytes, Node takes 14 us instead of 3 for an HMAC. */
export type DerivedKeys = readonly KeyObject[];

/**
 * Derives a key of 32 bytes from each encryption key, by HKDF-SHA-256. So the keys of every purpose rotate with the
 * encryption keys, and the key of one purpose reveals nothing about the key of another.
 */
export function deriveKeys(encryptionKeys: readonly Buffer[], purpose: string): DerivedKeys {
  return deriveFromEach(encryptionKeys, (key) =>
    createSecretKey(Buffer.from(hkdfSync('sha256', key, '', `usher ${purpose}`, 32))),
  );
}

/** Returns an HMAC-SHA-256. Unlike a hash, it lets nobody without the key find the text by trying. */
export function hmac(key: KeyObject | undefined, text: string | Buffer): Buffer {
  if (!key) throw new Error('There is no key for an HMAC');
  return createHmac('sha256', key).update(text).digest();
}
