/** Page tokens: where a page of a list ended, encrypted, so that callers cannot read, alter or move them. */
import { open, seal } from '../aes-gcm.ts';
import { deriveKeys } from '../derive-keys.ts';
import { invalidField } from '../errors.ts';

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

  constructor(encryptionKeys: readonly Buffer[]) {
    this.#keys = deriveKeys(encryptionKeys, 'page token');
  }

  seal({ at, id }: Position, scope: PageScope): string {
    const [key] = this.#keys;
    if (!key) throw new Error('There is no key to encrypt page tokens with');
    return seal(key, JSON.stringify([at.getTime(), id]), JSON.stringify(scope)).toString('base64url');
  }

  /** @throws ServiceError `Validation failed` for a token that is altered or of another scope */
  open(token: string, scope: PageScope): Position {
    for (const key of this.#keys) {
      const position = decrypt(key, token, scope);
      if (position) return position;
    }
    throw invalidField('pageToken', 'must be the nextPageToken of the same list');
  }
}

function decrypt(key: Buffer, token: string, scope: PageScope): Position | undefined {
  const sealed = Buffer.from(token, 'base64url');
  // Node decodes more spellings than one.
  if (sealed.toString('base64url') !== token) return undefined;
  try {
    const [at, id] = JSON.parse(open(key, sealed, JSON.stringify(scope)));
    return { at: new Date(at), id };
  } catch {
    return undefined;
  }
}
