/**
 * Authorization codes: the sealed ID of the login intent, in 64 characters. A guessed code is refused without a
 * statement.
 */

import { openBytes, type SealKeys, sealBytes } from '../../../crypto/sealed-bytes.ts';
import { toUuid, toUuidBytes } from '../../../encoding/uuid-bytes.ts';

const LENGTH = 64;

/** Returns the code of the intent. Repeated calls return the same code until the first encryption key changes. */
export function createCode(keys: SealKeys, loginIntentId: string): string {
  return sealBytes(keys, toUuidBytes(loginIntentId));
}

/** Returns the ID of the intent, or undefined if the text is no code. */
export function readCode(keys: SealKeys, text: string): string | undefined {
  const bytes = text.length === LENGTH ? openBytes(keys, text) : undefined;
  return bytes && toUuid(bytes);
}
