/**
 * The `state` of a sign-in at a provider: it names the login or the user, and is useless in another browser, at another provider and
 * after 10 minutes. Nonce and code verifier are made from it, so nothing of it is stored.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { decodeBase64Url } from '../base64url.ts';
import { deriveKeys } from '../derive-keys.ts';
import { toUuid, toUuidBytes } from '../uuid-bytes.ts';
import type { AuthorizationSecrets } from './login-provider.ts';

const LIFETIME_SECONDS = 600;
/** The login intent or user, the second and random bytes, which keep two sign-ins of a second apart. */
const RANDOM_AT = 16 + 4;
const MAC_AT = RANDOM_AT + 16;
const LENGTH = MAC_AT + 32;

export interface AuthorizationKeys {
  readonly state: readonly Buffer[];
  readonly nonce: readonly Buffer[];
  readonly codeVerifier: readonly Buffer[];
}

export function deriveAuthorizationKeys(encryptionKeys: readonly Buffer[]): AuthorizationKeys {
  return {
    state: deriveKeys(encryptionKeys, 'provider state'),
    nonce: deriveKeys(encryptionKeys, 'provider nonce'),
    codeVerifier: deriveKeys(encryptionKeys, 'provider code verifier'),
  };
}

/** What a `state` belongs to. */
interface Belonging {
  /** To sign in at a login, also on the way to the passkeys, or to link the account to a user. */
  readonly purpose: 'login' | 'passkeys' | 'link';
  readonly providerId: string;
  readonly browserDigest: Buffer;
  readonly now: Date;
}

export interface Authorization extends AuthorizationSecrets {
  /** The login intent, or the user. */
  readonly subjectId: string;
  readonly id: string;
}

/** Begins a sign-in at a provider. */
export function createAuthorization(keys: AuthorizationKeys, subjectId: string, at: Belonging): Authorization {
  const bytes = Buffer.alloc(MAC_AT);
  toUuidBytes(subjectId).copy(bytes);
  bytes.writeUInt32BE(toSeconds(at.now), 16);
  randomBytes(16).copy(bytes, RANDOM_AT);
  return toAuthorization(keys, 0, Buffer.concat([bytes, macOf(keys.state[0], bytes, at)]));
}

/** Returns the sign-in of the `state`, or undefined if it is none of this provider and browser in the last 10 minutes. */
export function readAuthorization(keys: AuthorizationKeys, state: string, at: Belonging): Authorization | undefined {
  const bytes = decodeBase64Url(state);
  if (bytes?.length !== LENGTH) return undefined;
  const age = toSeconds(at.now) - bytes.readUInt32BE(16);
  const signed = bytes.subarray(0, MAC_AT);
  const key = keys.state.findIndex((each) => timingSafeEqual(macOf(each, signed, at), bytes.subarray(MAC_AT)));
  // The clocks of two replicas may differ by seconds.
  return key >= 0 && age >= -60 && age <= LIFETIME_SECONDS ? toAuthorization(keys, key, bytes) : undefined;
}

function toAuthorization({ nonce, codeVerifier }: AuthorizationKeys, key: number, bytes: Buffer): Authorization {
  const secretOf = (secretKey: Buffer | undefined) => hmac(secretKey, bytes).toString('base64url');
  return {
    subjectId: toUuid(bytes.subarray(0, 16)),
    id: toUuid(bytes.subarray(RANDOM_AT, MAC_AT)),
    state: bytes.toString('base64url'),
    nonce: secretOf(nonce[key]),
    codeVerifier: secretOf(codeVerifier[key]),
  };
}

/** The digest of a browser has a fixed length, so the parts cannot be shifted. */
function macOf(key: Buffer | undefined, bytes: Buffer, { browserDigest, providerId, purpose }: Belonging): Buffer {
  return hmac(key, Buffer.concat([bytes, browserDigest, Buffer.from(`${purpose} ${providerId}`)]));
}

function hmac(key: Buffer | undefined, bytes: Buffer): Buffer {
  if (!key) throw new Error('There is no key to sign with');
  return createHmac('sha256', key).update(bytes).digest();
}

function toSeconds(instant: Date): number {
  return Math.floor(instant.getTime() / 1000);
}
