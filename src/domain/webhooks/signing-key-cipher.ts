/**
 * Encrypts signing keys of webhooks at rest: AES-256-GCM with the IDs of the application and the webhook as additional
 * authenticated data. So a value that somebody copies to another row does not decrypt.
 */
import { createSecretKey, hash, type KeyObject } from 'node:crypto';
import { open, seal } from '../crypto/aes-gcm.ts';

const KEY_ID_BYTES = 4;

/** Additional authenticated data: the row that a signing key belongs to. */
export interface AadContext {
  readonly applicationId: string;
  readonly webhookId: string;
}

/** The first key encrypts, and all keys decrypt. A stored value is key ID, nonce, tag and ciphertext. */
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
    return Buffer.concat([this.#current.id, seal(this.#current.key, signingKey, toText(aad))]);
  }

  /** @throws Error if the encryption key is not configured, or if the value belongs to another row */
  decrypt(stored: Buffer, aad: AadContext): string {
    const encryptionKey = this.#keys.find(({ id }) => id.compare(stored, 0, KEY_ID_BYTES) === 0);
    if (!encryptionKey) throw new Error('A webhook signing key was encrypted with a key that is not configured');
    return open(encryptionKey.key, stored.subarray(KEY_ID_BYTES), toText(aad));
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

function toText({ applicationId, webhookId }: AadContext): string {
  return `${applicationId}/${webhookId}`;
}
