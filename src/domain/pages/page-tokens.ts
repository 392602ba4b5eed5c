/**
 * Page tokens contain the position of the last row of a page. They are encrypted, so that callers can neither read nor
 * alter them, nor use them for another list.
 */
import { invalidField } from '../core/errors.ts';
import { deriveKeys, openToken, sealToken } from '../crypto/aes-gcm.ts';

/** The list for which a token is valid: its name, the application or user to which it belongs, and its filters. */
export type PageScope = readonly (string | number | boolean | null | readonly string[])[];

/** The position of a row in a list that is ordered by time, and by ID within the same time. */
export interface Position {
  readonly at: Date;
  readonly id: string;
}

export class PageTokens {
  /** The first key encrypts, and all keys decrypt. */
  readonly #keys: readonly Buffer[];

  constructor(encryptionKeys: readonly Buffer[]) {
    this.#keys = deriveKeys(encryptionKeys, 'page token');
  }

  seal({ at, id }: Position, scope: PageScope): string {
    return sealToken(this.#keys, JSON.stringify([at.getTime(), id]), JSON.stringify(scope));
  }

  /** Returns undefined for a token that was altered, or that is for another scope. */
  find(token: string, scope: PageScope): Position | undefined {
    const text = openToken(this.#keys, token, JSON.stringify(scope));
    if (text === undefined) return undefined;
    const [at, id] = JSON.parse(text);
    return { at: new Date(at), id };
  }

  /** @throws ServiceError `Validation failed` for a token that was altered, or that is for another scope */
  open(token: string, scope: PageScope, field: 'pageToken' | 'cursor' = 'pageToken'): Position {
    const source = field === 'pageToken' ? 'nextPageToken' : 'cursor';
    const position = this.find(token, scope);
    if (!position) throw invalidField(field, `must be the ${source} of the same list`);
    return position;
  }
}
