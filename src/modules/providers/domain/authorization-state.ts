/**
 * The `state` of a sign-in at a provider. It contains the ID of the login or the user, and is refused in another
 * browser, at another provider and after 10 minutes. Nonce and code verifier are derived from it, so that none of them
 * is stored.
 */

import { type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';
import { type DerivedKeys, deriveKeys, hmac } from '../../../domain/crypto/derived-keys.ts';
import { toSeconds } from '../../../domain/tokens/verify-token.ts';
import { decodeBase64Url } from '../../../encoding/base64url.ts';
import { toUuid, toUuidBytes } from '../../../encoding/uuid-bytes.ts';
import type { AuthorizationSecrets } from './provider-client.ts';

const LIFETIME_SECONDS = 600;
/** A state has the ID of the login intent or user, seconds since 1970, random bytes and a MAC, in this order. */
const RANDOM_AT = 16 + 4;
const MAC_AT = RANDOM_AT + 16;
const LENGTH = MAC_AT + 32;

export interface AuthorizationKeys {
  readonly state: DerivedKeys;
  readonly nonce: DerivedKeys;
  readonly codeVerifier: DerivedKeys;
}

export function deriveAuthorizationKeys(encryptionKeys: readonly Buffer[]): AuthorizationKeys {
  return {
    state: deriveKeys(encryptionKeys, 'provider state'),
    nonce: deriveKeys(encryptionKeys, 'provider nonce'),
    codeVerifier: deriveKeys(encryptionKeys, 'provider code verifier'),
  };
}

/** To sign in, to sign in and then show the passkeys, or to sign in after the provider has checked one factor only. */
export type LoginPurpose = 'login' | 'passkeys' | 'again';

/** What a `state` is bound to, and the present instant. Any other login, provider, browser or purpose is refused. */
interface StateBinding {
  /** `link`: to link an account at the provider to a signed-in user. */
  readonly purpose: LoginPurpose | 'link';
  readonly providerId: string;
  readonly browserDigest: Buffer;
  readonly now: Date;
}

/** A sign-in at a provider that has begun. */
export interface Authorization extends AuthorizationSecrets {
  /** The ID of the login intent, or of the user. */
  readonly subjectId: string;
  /** Random. Identifies this sign-in at the provider. */
  readonly id: string;
  readonly begunAt: Date;
}

/** Begins a sign-in at a provider. */
export function createAuthorization(keys: AuthorizationKeys, subjectId: string, binding: StateBinding): Authorization {
  const bytes = Buffer.alloc(MAC_AT);
  toUuidBytes(subjectId).copy(bytes);
  bytes.writeUInt32BE(toSeconds(binding.now), 16);
  randomBytes(16).copy(bytes, RANDOM_AT);
  return toAuthorization(keys, 0, Buffer.concat([bytes, macOf(keys.state[0], bytes, binding)]));
}

/** Returns undefined unless Usher created the `state` for these values in the last 10 minutes. */
export function readAuthorization(
  keys: AuthorizationKeys,
  state: string,
  binding: StateBinding,
): Authorization | undefined {
  const bytes = decodeBase64Url(state);
  if (bytes?.length !== LENGTH) return undefined;
  const age = toSeconds(binding.now) - bytes.readUInt32BE(16);
  const signed = bytes.subarray(0, MAC_AT);
  const key = keys.state.findIndex((each) => timingSafeEqual(macOf(each, signed, binding), bytes.subarray(MAC_AT)));
  // The clock of the replica that created the state may be ahead by seconds.
  return key >= 0 && age >= -60 && age <= LIFETIME_SECONDS ? toAuthorization(keys, key, bytes) : undefined;
}

function toAuthorization({ nonce, codeVerifier }: AuthorizationKeys, key: number, bytes: Buffer): Authorization {
  const secretOf = (secretKey: KeyObject | undefined) => hmac(secretKey, bytes).toString('base64url');
  return {
    subjectId: toUuid(bytes.subarray(0, 16)),
    id: toUuid(bytes.subarray(RANDOM_AT, MAC_AT)),
    begunAt: new Date(bytes.readUInt32BE(16) * 1_000),
    state: bytes.toString('base64url'),
    nonce: secretOf(nonce[key]),
    codeVerifier: secretOf(codeVerifier[key]),
  };
}

/** All parts but the last have a fixed length, so different bindings have different bytes. */
function macOf(
  key: KeyObject | undefined,
  bytes: Buffer,
  { browserDigest, providerId, purpose }: StateBinding,
): Buffer {
  return hmac(key, Buffer.concat([bytes, browserDigest, Buffer.from(`${purpose} ${providerId}`)]));
}
