/**
 * Webhook signing keys at rest: AES-256-GCM, bound to the webhook and application they belong to,
 * so that a key moved to another row does not decrypt.
 */
import { createCipheriv, createDecipheriv, createSecretKey, hash, type KeyObject, randomBytes } from 'node:crypto';

const KEY_ID_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The row that a signing key belongs to. */
export interface AadContext {
  readonly applicationId: string;
  readonly webhookId: string;
}

/** The first key encrypts, all decrypt. What is stored: key ID, nonce, tag, ciphertext. */
export class SigningKeyCipher {
  readonly #current: EncryptionKey;
  readonly #keys: readonly EncryptionKey[];

  /** Takes keys of 32 bytes, at least one. */
  constructor(keys: readonly Buffer[]) {
    this.#keys = keys.map((key) => ({ id: keyIdOf(key), key: createSecretKey(key) }));
    const [current] = this.#keys;
    if (!current) throw new Error('There is no key to encrypt webhook signing keys with');
    this.#current = current;
  }

  /** In hex, what encrypted signing keys begin with. The key that encrypts comes first. */
  get keyIds(): readonly string[] {
    return this.#keys.map(({ id }) => id.toString('hex'));
  }

  /** Key ID, nonce, tag and ciphertext. */
  encrypt(signingKey: string, place: AadContext): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#current.key, nonce).setAAD(additionalData(place));
    const ciphertext = Buffer.concat([cipher.update(signingKey, 'utf8'), cipher.final()]);
    return Buffer.concat([this.#current.id, nonce, cipher.getAuthTag(), ciphertext]);
  }

  /** Throws when the key that encrypted it is not among ours, or the row is not its own. */
  decrypt(stored: Buffer, place: AadContext): string {
    const nonceAt = KEY_ID_BYTES;
    const tagAt = nonceAt + NONCE_BYTES;
    const ciphertextAt = tagAt + TAG_BYTES;
    const encryptionKey = this.#keys.find(({ id }) => id.equals(stored.subarray(0, nonceAt)));
    if (!encryptionKey) throw new Error('A webhook signing key was encrypted with a key that is not configured');
    const decipher = createDecipheriv('aes-256-gcm', encryptionKey.key, stored.subarray(nonceAt, tagAt), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(additionalData(place)).setAuthTag(stored.subarray(tagAt, ciphertextAt));
    return Buffer.concat([decipher.update(stored.subarray(ciphertextAt)), decipher.final()]).toString('utf8');
  }
}

interface EncryptionKey {
  readonly id: Buffer;
  /** Made once: Node takes four times as long to decrypt with the bytes. */
  readonly key: KeyObject;
}

function keyIdOf(key: Buffer): Buffer {
  return hash('sha256', key, 'buffer').subarray(0, KEY_ID_BYTES);
}

function additionalData({ applicationId, webhookId }: AadContext): Buffer {
  return Buffer.from(`${applicationId}/${webhookId}`);
}
