/** AES-256-GCM. A sealed value is nonce, tag and ciphertext, in this order. */
import { type CipherKey, createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { decodeBase64Url } from '../../encoding/base64url.ts';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHERTEXT_AT = NONCE_BYTES + TAG_BYTES;

/** Encrypts a text. `open` needs the same additional authenticated data. */
export function seal(key: CipherKey, text: string, aad: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(aad));
  const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]);
}

/**
 * Decrypts a sealed value.
 *
 * @throws Error if the value was altered, or sealed with another key or other additional authenticated data
 */
export function open(key: CipherKey, sealed: Buffer, aad: string): string {
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(aad)).setAuthTag(sealed.subarray(NONCE_BYTES, CIPHERTEXT_AT));
  return Buffer.concat([decipher.update(sealed.subarray(CIPHERTEXT_AT)), decipher.final()]).toString('utf8');
}

/** Encrypts a text with the first of the keys, as base64url. */
export function sealToken([key]: readonly Buffer[], text: string, aad: string): string {
  if (!key) throw new Error('There is no key to encrypt tokens with');
  return seal(key, text, aad).toString('base64url');
}

/** Decrypts a token that `sealToken` encrypted with any of the keys. Returns undefined for any other text. */
export function openToken(keys: readonly Buffer[], token: string, aad: string): string | undefined {
  const sealed = decodeBase64Url(token);
  if (!sealed) return undefined;
  for (const key of keys) {
    try {
      return open(key, sealed, aad);
    } catch {
      // Another key encrypted the token, or none did.
    }
  }
  return undefined;
}
