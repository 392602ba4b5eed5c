/** Page tokens: where a page of a list ended, encrypted, so that callers cannot read, alter or move them. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { ServiceError } from '../errors.ts';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** What a token is valid for: the list, whose list it is, and its filters. */
export type PageScope = readonly (string | number | boolean | null)[];

/** The place of a row in a list that is ordered by time and then by ID. */
export interface Position {
  readonly at: Date;
  readonly id: string;
}

export class PageTokens {
  /** The first key encrypts, all decrypt. */
  readonly #keys: readonly Buffer[];

  /** Derives its keys from the encryption keys, so that both rotate together. */
  constructor(encryptionKeys: readonly Buffer[]) {
    this.#keys = encryptionKeys.map((key) => Buffer.from(hkdfSync('sha256', key, '', 'usher page token', 32)));
  }

  seal({ at, id }: Position, scope: PageScope): string {
    const [key] = this.#keys;
    if (!key) throw new Error('There is no key to encrypt page tokens with');
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(toAad(scope));
    const ciphertext = Buffer.concat([cipher.update(JSON.stringify([at.getTime(), id]), 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]).toString('base64url');
  }

  /** @throws ServiceError `Validation failed` for a token that is altered or of another scope */
  open(token: string, scope: PageScope): Position {
    for (const key of this.#keys) {
      const position = decrypt(key, token, scope);
      if (position) return position;
    }
    const violation = { field: 'pageToken', message: 'must be the nextPageToken of the same list' };
    throw new ServiceError('VALIDATION_FAILED', { violations: [violation] });
  }
}

function decrypt(key: Buffer, token: string, scope: PageScope): Position | undefined {
  const sealed = Buffer.from(token, 'base64url');
  // Node decodes more spellings than one.
  if (sealed.toString('base64url') !== token || sealed.length <= NONCE_BYTES + TAG_BYTES) return undefined;
  const ciphertextAt = NONCE_BYTES + TAG_BYTES;
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(toAad(scope)).setAuthTag(sealed.subarray(NONCE_BYTES, ciphertextAt));
  try {
    const text = Buffer.concat([decipher.update(sealed.subarray(ciphertextAt)), decipher.final()]).toString('utf8');
    const [at, id] = JSON.parse(text);
    return { at: new Date(at), id };
  } catch {
    return undefined;
  }
}

function toAad(scope: PageScope): Buffer {
  return Buffer.from(JSON.stringify(scope));
}
