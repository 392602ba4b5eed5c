import { hkdfSync } from 'node:crypto';

/**
 * Derives a key of 32 bytes from each encryption key, by HKDF-SHA-256. So the keys of every purpose rotate with the
 * encryption keys, and the key of one purpose reveals nothing about the key of another.
 */
export function deriveKeys(encryptionKeys: readonly Buffer[], purpose: string): readonly Buffer[] {
  return encryptionKeys.map((key) => Buffer.from(hkdfSync('sha256', key, '', `usher ${purpose}`, 32)));
}
