import { hkdfSync } from 'node:crypto';

/**
 * Returns a key of 32 bytes per encryption key, by HKDF-SHA-256. The keys of all purposes rotate with the encryption
 * keys, and none reveals anything of another.
 */
export function deriveKeys(encryptionKeys: readonly Buffer[], purpose: string): readonly Buffer[] {
  return encryptionKeys.map((key) => Buffer.from(hkdfSync('sha256', key, '', `usher ${purpose}`, 32)));
}
