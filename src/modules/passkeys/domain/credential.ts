/** The answer of a browser to a challenge: a PublicKeyCredential as JSON (WebAuthn, section 5.1). */

import { ServiceError } from '../../../domain/core/errors.ts';
import { decodeBase64Url } from '../../../encoding/base64url.ts';
import { isObject, parseObject } from '../../../encoding/json.ts';
import { type ChallengeUse, isChallenge } from './challenge.ts';
import type { RelyingParty } from './relying-party.ts';

/** All strings except the transports are in base64url. */
export interface Credential {
  readonly id: string;
  readonly clientDataJSON: string;
  /** Present for a new passkey. Empty for a sign-in. */
  readonly attestationObject: string;
  readonly transports: readonly string[];
  /** Present, like the next two, for a sign-in. Empty for a new passkey. */
  readonly authenticatorData: string;
  readonly signature: string;
  readonly userHandle: string;
}

/** WebAuthn, section 5.8.3. */
const MAX_CREDENTIAL_ID_BYTES = 1_023;
const MAX_TRANSPORTS = 8;

/** @throws ServiceError `Invalid passkey` if the JSON is not a credential */
export function parseCredential(json: string): Credential {
  const parsed = parseObject(json);
  requireValid(parsed !== undefined);
  const { id, rawId, type, response } = parsed;
  const fields = isObject(response) ? response : {};
  const { transports = [] } = fields;
  requireValid(typeof id === 'string' && id !== '' && id === rawId && type === 'public-key');
  const bytes = decodeBase64Url(id);
  requireValid(bytes !== undefined && bytes.length <= MAX_CREDENTIAL_ID_BYTES);
  requireValid(Array.isArray(transports) && transports.length <= MAX_TRANSPORTS && transports.every(isTransport));
  const read = (name: string): string => {
    const value = fields[name] ?? '';
    requireValid(typeof value === 'string' && decodeBase64Url(value) !== undefined);
    return value;
  };
  return {
    id,
    clientDataJSON: read('clientDataJSON'),
    attestationObject: read('attestationObject'),
    transports,
    authenticatorData: read('authenticatorData'),
    signature: read('signature'),
    userHandle: read('userHandle'),
  };
}

/**
 * Requires that this page has requested the credential, outside of frames. The library that verifies signatures accepts
 * some requests from frames of other origins at a sign-in, and all of them at a creation.
 *
 * @throws ServiceError `Invalid passkey`
 */
export function requireOwnRequest(
  { clientDataJSON }: Credential,
  { origin, keys }: RelyingParty,
  use: ChallengeUse,
  now: Date,
): void {
  const client = parseObject(Buffer.from(clientDataJSON, 'base64url').toString('utf8'));
  requireValid(client !== undefined);
  requireValid(client.type === (use.purpose === 'passkey get' ? 'webauthn.get' : 'webauthn.create'));
  requireValid(client.origin === origin);
  requireValid((client.crossOrigin ?? false) === false);
  requireValid(client.topOrigin === undefined);
  requireValid(typeof client.challenge === 'string' && isChallenge(keys, client.challenge, use, now));
}

/** @throws ServiceError `Invalid passkey` */
export function requireValid(holds: boolean): asserts holds {
  if (!holds) throw new ServiceError('INVALID_PASSKEY');
}

/** Transports are hints, which Usher returns to browsers. Unknown ones are allowed (WebAuthn, section 5.8.4). */
function isTransport(value: unknown): value is string {
  return typeof value === 'string' && /^[a-z-]{1,20}$/.test(value);
}
