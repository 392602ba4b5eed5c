/** Authorization codes: the ID of the login intent, sealed, in 64 characters. So a guess costs no statement. */

import { toUuid, toUuidBytes } from '../uuid-bytes.ts';
import { openBytes, type SealKeys, sealBytes } from './sealed-bytes.ts';

const LENGTH = 64;

/** Returns the code of the intent. It is the same every time, until the encryption keys rotate. */
export function createCode(keys: SealKeys, loginIntentId: string): string {
  return sealBytes(keys, toUuidBytes(loginIntentId));
}

/** Returns the ID of the intent, or undefined if the text is no code. */
export function readCode(keys: SealKeys, text: string): string | undefined {
  const bytes = text.length === LENGTH ? openBytes(keys, text) : undefined;
  return bytes && toUuid(bytes);
}
