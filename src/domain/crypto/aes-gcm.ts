/** AES-256-GCM with keys for each purpose. A sealed value is nonce, tag and ciphertext, in this order. */
import { createCipheriv, createDecipheriv, createSecretKey, hash, type KeyObject, randomBytes } from 'node:crypto';
import { decodeBase64Url } from '../../encoding/base64url.ts';
import type { DerivedKeys } from './derived-keys.ts';
import { deriveFromEach } from './encryption-keys.ts';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHERTEXT_AT = NONCE_BYTES + TAG_BYTES;
const KEY_ID_BYTES = 4;

/** Encrypts a text. `open` needs the same additional authenticated data. */
function seal(key: KeyObject, text: string, aad: string): Buffer {
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
function open(key: KeyObject, sealed: Buffer, aad: string): string {
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(aad)).setAuthTag(sealed.subarray(NONCE_BYTES, CIPHERTEXT_AT));
  return Buffer.concat([decipher.update(sealed.subarray(CIPHERTEXT_AT)), decipher.final()]).toString('utf8');
}

/** Encrypts a text with the first of the keys, as base64url. */
export function sealToken([key]: DerivedKeys, text: string, aad: string): string {
  if (!key) throw new Error('There is no key to encrypt tokens with');
  return seal(key, text, aad).toString('base64url');
}

/** Decrypts a token that `sealToken` encrypted with any of the keys. Returns undefined for any other text. */
export function openToken(keys: DerivedKeys, token: string, aad: string): string | undefined {
  const sealed = decodeBase64Url(token);
  // Equivalent: guard: nothing opens undefined
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

/** Additional authenticated data: the row that a value belongs to. */
export interface RowIds {
  readonly applicationId: string;
  readonly id: string;
}

/**
 * Encrypts values of rows at rest. A value that somebody copies to another row does not decrypt there. The first key
 * encrypts, and all keys decrypt. A stored value is the ID of its key, and the sealed value.
 */
export class RowCipher {
  readonly #keys: readonly EncryptionKey[];

  /** Takes one or more keys of 32 bytes. */
  constructor(keys: readonly Buffer[]) {
    this.#keys = deriveFromEach(keys, (key) => ({ id: keyIdOf(key), key: createSecretKey(key) }));
    void this.#current;
  }

  get #current(): EncryptionKey {
    const [current] = this.#keys;
    if (!current) throw new Error('There is no key to encrypt rows with');
    return current;
  }

  /** In hex. The key that encrypts comes first. */
  get keyIds(): readonly string[] {
    return this.#keys.map(({ id }) => id.toString('hex'));
  }

  encrypt(text: string, row: RowIds): Buffer {
    const { id, key } = this.#current;
    return Buffer.concat([id, seal(key, text, toText(row))]);
  }

  /** @throws Error if the encryption key is not configured, or if the value belongs to another row */
  decrypt(stored: Buffer, row: RowIds): string {
    const encryptionKey = this.#keys.find(({ id }) => id.compare(stored, 0, KEY_ID_BYTES) === 0);
    if (!encryptionKey) throw new Error('A row was encrypted with a key that is not configured');
    return open(encryptionKey.key, stored.subarray(KEY_ID_BYTES), toText(row));
  }
}

interface EncryptionKey {
  readonly id: Buffer;
  /** A KeyObject, because Node takes four times as long to decrypt with a Buffer. */
  readonly key: KeyObject;
}

function keyIdOf(key: Buffer): Buffer {
  return hash('sha256', key, 'buffer').subarray(0, KEY_ID_BYTES);
}

function toText({ applicationId, id }: RowIds): string {
  return `${applicationId}/${id}`;
}
