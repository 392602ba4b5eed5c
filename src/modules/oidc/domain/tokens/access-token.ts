/**
 * Access tokens: `uat_` and the sealed IDs of a session and of its grant. They are opaque to applications, and Usher
 * stores none.
 */

import { createLruCache } from '../../../../domain/cache/revalidating-cache.ts';
import { toUuid, toUuidBytes } from '../../../../encoding/uuid-bytes.ts';
import { openBytes, type SealKeys, sealBytes } from './sealed-bytes.ts';

export interface AccessToken {
  /** Bits, as in `scope.ts`. */
  readonly scope: number;
  readonly applicationId: string;
  readonly sessionId: string;
  /** The ID of the login intent whose code was redeemed. */
  readonly grantId: string;
  /** For the client of a resource: which of the grant's scope names the token has, as bits. */
  readonly names?: bigint | undefined;
}

const PREFIX = 'uat_';
const VERSION = 1;
/** A token for the client of a resource also has the names. */
const RESOURCE_VERSION = 2;
/** Version, scope and three IDs. */
const BYTES = 2 + 3 * 16;
const NAMES_BYTES = 8;

export function createAccessToken(keys: SealKeys, token: AccessToken): string {
  const { scope, applicationId, sessionId, grantId, names } = token;
  const ids = [applicationId, sessionId, grantId].map(toUuidBytes);
  if (names === undefined) return PREFIX + sealBytes(keys, Buffer.concat([Buffer.from([VERSION, scope]), ...ids]));
  const bits = Buffer.alloc(NAMES_BYTES);
  bits.writeBigUInt64BE(names);
  return PREFIX + sealBytes(keys, Buffer.concat([Buffer.from([RESOURCE_VERSION, scope]), ...ids, bits]));
}

/** Returns undefined if the text is no access token. Does not check whether the session has ended. */
export function readAccessToken(keys: SealKeys, text: string): AccessToken | undefined {
  if (!text.startsWith(PREFIX)) return undefined;
  const bytes = openBytes(keys, text.slice(PREFIX.length));
  const hasNames = bytes?.[0] === RESOURCE_VERSION;
  if (!bytes || bytes.length !== BYTES + (hasNames ? NAMES_BYTES : 0)) return undefined;
  if (!hasNames && bytes[0] !== VERSION) return undefined;
  const idAt = (at: number) => toUuid(bytes.subarray(at, at + 16));
  const names = hasNames ? bytes.readBigUInt64BE(BYTES) : undefined;
  return { scope: bytes.readUInt8(1), applicationId: idAt(2), sessionId: idAt(18), grantId: idAt(34), names };
}

/** Returns what `readAccessToken` returns. */
export type OpenAccessToken = (text: string) => AccessToken | undefined;

/** Some 5 MB. */
const MAX_OPENED = 10_000;

/**
 * Returns a function that knows the tokens which it has opened last. Without that, IntrospectToken costs 1.19 times what
 * CheckSession costs, most of it for the MAC: measure again with test/robustness/introspection-cost.test.ts.
 */
export function createAccessTokenOpener(keys: SealKeys): OpenAccessToken {
  const opened = createLruCache<AccessToken>(MAX_OPENED);
  return (text) => {
    const known = opened.get(text);
    if (known) return known;
    const token = readAccessToken(keys, text);
    if (token) opened.set(text, token);
    return token;
  };
}
