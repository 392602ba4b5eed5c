/** Page tokens: where a page of a list ended, encrypted, so that callers cannot read, alter or move them. */
import { openToken, sealToken } from '../aes-gcm.ts';
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
    return sealToken(this.#keys, JSON.stringify([at.getTime(), id]), JSON.stringify(scope));
  }

  /** @throws ServiceError `Validation failed` for a token that is altered or of another scope */
  open(token: string, scope: PageScope): Position {
    const text = openToken(this.#keys, token, JSON.stringify(scope));
    if (text === undefined) throw invalidField('pageToken', 'must be the nextPageToken of the same list');
    const [at, id] = JSON.parse(text);
    return { at: new Date(at), id };
  }
}
