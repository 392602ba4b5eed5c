/**
 * Authorization codes: the sealed ID of the login intent, in 64 characters. For the client of a resource, that is
 * another application, whose ID follows. A guessed code is refused without a statement.
 */

import { toUuid, toUuidBytes } from '../../../../encoding/uuid-bytes.ts';
import { openBytes, type SealKeys, sealBytes } from './sealed-bytes.ts';

const ID_BYTES = 16;

export interface Code {
  readonly loginIntentId: string;
  /** Undefined if the client itself is the application. */
  readonly resourceId: string | undefined;
}

/** Returns the code of the intent. Repeated calls return the same code until the first encryption key changes. */
export function createCode(keys: SealKeys, loginIntentId: string, resourceId?: string): string {
  const ids = resourceId === undefined ? [loginIntentId] : [loginIntentId, resourceId];
  return sealBytes(keys, Buffer.concat(ids.map(toUuidBytes)));
}

/** Returns undefined if the text is no code. */
export function readCode(keys: SealKeys, text: string): Code | undefined {
  const bytes = openBytes(keys, text);
  if (bytes?.length !== ID_BYTES && bytes?.length !== 2 * ID_BYTES) return undefined;
  const resourceId = bytes.length > ID_BYTES ? toUuid(bytes.subarray(ID_BYTES)) : undefined;
  return { loginIntentId: toUuid(bytes.subarray(0, ID_BYTES)), resourceId };
}
