/**
 * Access tokens: `uat_` and the sealed IDs of a session and of its grant. They are opaque to applications, and Usher
 * stores none.
 */

import { openBytes, type SealKeys, sealBytes } from '../../../crypto/sealed-bytes.ts';
import { toUuid, toUuidBytes } from '../../../encoding/uuid-bytes.ts';

export interface AccessToken {
  /** Bits, as in `scope.ts`. */
  readonly scope: number;
  readonly applicationId: string;
  readonly sessionId: string;
  /** The ID of the login intent whose code was redeemed. */
  readonly grantId: string;
}

const PREFIX = 'uat_';
const VERSION = 1;
/** Version, scope and three IDs. */
const BYTES = 2 + 3 * 16;
const LENGTH = PREFIX.length + Math.ceil(((BYTES + 32) * 4) / 3);

export function createAccessToken(keys: SealKeys, token: AccessToken): string {
  const { scope, applicationId, sessionId, grantId } = token;
  const ids = [applicationId, sessionId, grantId].map(toUuidBytes);
  return PREFIX + sealBytes(keys, Buffer.concat([Buffer.from([VERSION, scope]), ...ids]));
}

/** Returns undefined if the text is no access token. Does not check whether the session has ended. */
export function readAccessToken(keys: SealKeys, text: string): AccessToken | undefined {
  if (text.length !== LENGTH || !text.startsWith(PREFIX)) return undefined;
  const bytes = openBytes(keys, text.slice(PREFIX.length));
  if (bytes?.length !== BYTES || bytes[0] !== VERSION) return undefined;
  const idAt = (at: number) => toUuid(bytes.subarray(at, at + 16));
  return { scope: bytes.readUInt8(1), applicationId: idAt(2), sessionId: idAt(18), grantId: idAt(34) };
}
