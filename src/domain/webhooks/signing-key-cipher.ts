/**
 * Encryption of webhook signing keys at rest: AES-256-GCM with the webhook and application as additional
 * authenticated data, so that a key that is moved to another row does not decrypt.
 */
import { createCipheriv, createDecipheriv, createSecretKey, hash, type KeyObject, randomBytes } from 'node:crypto';

const KEY_ID_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Additional authenticated data: the row that a signing key belongs to. */
export interface AadContext {
  readonly applicationId: string;
  readonly webhookId: string;
}

/** The first key encrypts, all decrypt. A stored value is key ID, nonce, tag and ciphertext. */
export class SigningKeyCipher {
  readonly #current: EncryptionKey;
  readonly #keys: readonly EncryptionKey[];

  /** Takes one or more keys of 32 bytes. */
  constructor(keys: readonly Buffer[]) {
    this.#keys = keys.map((key) => ({ id: keyIdOf(key), key: createSecretKey(key) }));
    const [current] = this.#keys;
    if (!current) throw new Error('There is no key to encrypt webhook signing keys with');
    this.#current = current;
  }

  /** In hex. The key that encrypts comes first. */
  get keyIds(): readonly string[] {
    return this.#keys.map(({ id }) => id.toString('hex'));
  }

  /** Returns key ID, nonce, tag and ciphertext. */
  encrypt(signingKey: string, aad: AadContext): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#current.key, nonce).setAAD(toAad(aad));
    const ciphertext = Buffer.concat([cipher.update(signingKey, 'utf8'), cipher.final()]);
    return Buffer.concat([this.#current.id, nonce, cipher.getAuthTag(), ciphertext]);
  }

  /** @throws Error if the encryption key is not configured, or if the value is of another row */
  decrypt(stored: Buffer, aad: AadContext): string {
    const nonceAt = KEY_ID_BYTES;
    const tagAt = nonceAt + NONCE_BYTES;
    const ciphertextAt = tagAt + TAG_BYTES;
    const encryptionKey = this.#keys.find(({ id }) => id.equals(stored.subarray(0, nonceAt)));
    if (!encryptionKey) throw new Error('A webhook signing key was encrypted with a key that is not configured');
    const decipher = createDecipheriv('aes-256-gcm', encryptionKey.key, stored.subarray(nonceAt, tagAt), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(toAad(aad)).setAuthTag(stored.subarray(tagAt, ciphertextAt));
    return Buffer.concat([decipher.update(stored.subarray(ciphertextAt)), decipher.final()]).toString('utf8');
  }
}

interface EncryptionKey {
  readonly id: Buffer;
  /** Node takes four times as long to decrypt with the bytes. */
  readonly key: KeyObject;
}

function keyIdOf(key: Buffer): Buffer {
  return hash('sha256', key, 'buffer').subarray(0, KEY_ID_BYTES);
}

function toAad({ applicationId, webhookId }: AadContext): Buffer {
  return Buffer.from(`${applicationId}/${webhookId}`);
}
