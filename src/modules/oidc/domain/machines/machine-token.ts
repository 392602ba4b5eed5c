/**
 * Access tokens that a client gets of its own, without a user: `umt_` and what was granted, sealed. Usher stores none. A
 * token lives no longer than the API key with which the client asked for it.
 */

import { toUuid, toUuidBytes } from '../../../../encoding/uuid-bytes.ts';
import { openBytes, type SealKeys, sealBytes } from '../tokens/sealed-bytes.ts';

export interface MachineToken {
  /** The ID of the application that is the client. */
  readonly clientApplicationId: string;
  /** The ID of the application that is the resource. */
  readonly resourceId: string;
  readonly apiKeyId: string;
  readonly expiresAt: Date;
  /** Names of scopes of the resource, separated by spaces. */
  readonly scope: string;
}

export const MACHINE_TOKEN_SECONDS = 15 * 60;
const PREFIX = 'umt_';
const VERSION = 1;
/** The offset of the scope, after version, three IDs and an instant. */
const SCOPE_AT = 1 + 3 * 16 + 8;

export function createMachineToken(keys: SealKeys, token: MachineToken): string {
  const { clientApplicationId, resourceId, apiKeyId, expiresAt, scope } = token;
  const ids = [clientApplicationId, resourceId, apiKeyId].map(toUuidBytes);
  const instant = Buffer.alloc(8);
  instant.writeBigUInt64BE(BigInt(expiresAt.getTime()));
  return PREFIX + sealBytes(keys, Buffer.concat([Buffer.from([VERSION]), ...ids, instant, Buffer.from(scope)]));
}

/** Returns undefined if the text is no such token. Does not check whether the token has ended. */
export function readMachineToken(keys: SealKeys, text: string): MachineToken | undefined {
  if (!text.startsWith(PREFIX)) return undefined;
  const bytes = openBytes(keys, text.slice(PREFIX.length));
  if (bytes?.[0] !== VERSION) return undefined;
  const idAt = (at: number) => toUuid(bytes.subarray(at, at + 16));
  return {
    clientApplicationId: idAt(1),
    resourceId: idAt(17),
    apiKeyId: idAt(33),
    expiresAt: new Date(Number(bytes.readBigUInt64BE(49))),
    scope: bytes.toString('utf8', SCOPE_AT),
  };
}

export function issuedAtOf(expiresAt: Date): Date {
  return new Date(expiresAt.getTime() - MACHINE_TOKEN_SECONDS * 1_000);
}
