/** Refresh tokens: `urt_` and a sealed sign-in. They are opaque to applications, and Usher stores none. */

import type { SignInMethod } from '../../../../domain/tokens/verify-token.ts';
import { toUuid, toUuidBytes } from '../../../../encoding/uuid-bytes.ts';
import { openBytes, type SealKeys, sealBytes } from './sealed-bytes.ts';

export interface RefreshToken {
  /** Bits, as in `scope.ts`. */
  readonly scope: number;
  readonly method: SignInMethod;
  readonly applicationId: string;
  readonly userId: string;
  /** The ID of the login intent whose code was redeemed. */
  readonly grantId: string;
  /** Precise to the millisecond. */
  readonly authenticatedAt: Date;
  readonly endsAt: Date;
  /** The number of the token in its grant, from 1. Zero for a confidential client, whose token does not rotate. */
  readonly rotation: number;
  /** Whether its client is another than the application, which is the resource then. */
  readonly isForClient: boolean;
}

const PREFIX = 'urt_';
const VERSION = 1;
/** Of a token for the client of a resource. */
const RESOURCE_VERSION = 2;
/** The offset of the method, after version, scope, rotation, three IDs and two instants. */
const METHOD_AT = 6 + 3 * 16 + 2 * 8;

export function createRefreshToken(keys: SealKeys, token: RefreshToken): string {
  const { scope, method, applicationId, userId, grantId, authenticatedAt, endsAt, rotation, isForClient } = token;
  const numbers = Buffer.alloc(6);
  numbers.writeUInt8(isForClient ? RESOURCE_VERSION : VERSION, 0);
  numbers.writeUInt8(scope, 1);
  numbers.writeUInt32BE(rotation, 2);
  const ids = [applicationId, userId, grantId].map(toUuidBytes);
  const instants = [authenticatedAt, endsAt].map((instant) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64BE(BigInt(instant.getTime()));
    return bytes;
  });
  return PREFIX + sealBytes(keys, Buffer.concat([numbers, ...ids, ...instants, Buffer.from(method)]));
}

/** Returns undefined if the text is no refresh token. Does not check whether the token has ended. */
export function readRefreshToken(keys: SealKeys, text: string): RefreshToken | undefined {
  if (!text.startsWith(PREFIX)) return undefined;
  const bytes = openBytes(keys, text.slice(PREFIX.length));
  if (!bytes || bytes.length <= METHOD_AT) return undefined;
  const isForClient = bytes[0] === RESOURCE_VERSION;
  if (!isForClient && bytes[0] !== VERSION) return undefined;
  const idAt = (at: number) => toUuid(bytes.subarray(at, at + 16));
  const instantAt = (at: number) => new Date(Number(bytes.readBigUInt64BE(at)));
  return {
    isForClient,
    scope: bytes.readUInt8(1),
    rotation: bytes.readUInt32BE(2),
    applicationId: idAt(6),
    userId: idAt(22),
    grantId: idAt(38),
    authenticatedAt: instantAt(54),
    endsAt: instantAt(62),
    // Safe: the MAC shows that Usher has written it.
    method: bytes.toString('utf8', METHOD_AT) as SignInMethod,
  };
}
