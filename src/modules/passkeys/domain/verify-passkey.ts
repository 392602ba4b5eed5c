/**
 * The only file that verifies with `@simplewebauthn/server`. It loads it with the first passkey, because the library
 * takes 25 MB. Errors of the library quote the credential, so they are neither shown nor logged.
 */
import { type Credential, requireValid } from './credential.ts';
import type { RelyingParty } from './relying-party.ts';

/** Signature algorithms (COSE): EdDSA, ES256 and RS256. By default, the library adds one whose keys have kilobytes. */
export const ALGORITHMS = [-8, -7, -257];

export interface NewPasskey {
  readonly credentialId: Buffer;
  readonly publicKey: Buffer;
  readonly signCount: number;
  readonly aaguid: string;
  readonly isBackupEligible: boolean;
  readonly isBackedUp: boolean;
  readonly isUserVerified: boolean;
}

/** Verifies the flags and the key of a new passkey. @throws ServiceError `Invalid passkey` */
export async function verifyCreation(credential: Credential, { rpId, origin }: RelyingParty): Promise<NewPasskey> {
  const { id, clientDataJSON, attestationObject } = credential;
  const object = withoutAttestation(Buffer.from(attestationObject, 'base64url')).toString('base64url');
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
  const { registrationInfo } = await verifyRegistrationResponse({
    ...EXPECTED,
    expectedOrigin: origin,
    expectedRPID: rpId,
    response: { ...toEnvelope(id), response: { clientDataJSON, attestationObject: object } },
    supportedAlgorithmIDs: ALGORITHMS,
  }).catch(() => ({ registrationInfo: undefined }));
  requireValid(registrationInfo?.credential.id === id);
  return {
    credentialId: Buffer.from(id, 'base64url'),
    publicKey: Buffer.from(registrationInfo.credential.publicKey),
    signCount: registrationInfo.credential.counter,
    aaguid: registrationInfo.aaguid,
    isBackupEligible: registrationInfo.credentialDeviceType === 'multiDevice',
    isBackedUp: registrationInfo.credentialBackedUp,
    isUserVerified: registrationInfo.userVerified,
  };
}

/** Verifies the flags and the signature of a sign-in. @throws ServiceError `Invalid passkey` */
export async function verifyUse(
  credential: Credential,
  publicKey: Buffer,
  { rpId, origin }: RelyingParty,
): Promise<{ signCount: number; isBackedUp: boolean; isUserVerified: boolean }> {
  const { id, clientDataJSON, authenticatorData, signature, userHandle } = credential;
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  const answer = await verifyAuthenticationResponse({
    ...EXPECTED,
    expectedOrigin: origin,
    expectedRPID: rpId,
    response: { ...toEnvelope(id), response: { clientDataJSON, authenticatorData, signature, userHandle } },
    // With zero, the library accepts every counter. That of synced passkeys never increases.
    credential: { id, publicKey: new Uint8Array(publicKey), counter: 0 },
  }).catch(() => undefined);
  requireValid(answer?.verified === true);
  const { newCounter, credentialBackedUp, userVerified } = answer.authenticationInfo;
  return { signCount: newCounter, isBackedUp: credentialBackedUp, isUserVerified: userVerified };
}

/** `requireOwnRequest` checks the challenge. User verification is preferred, so answers without it are accepted. */
const EXPECTED = { expectedChallenge: () => true, requireUserVerification: false };

function toEnvelope(id: string) {
  return { id, rawId: id, type: 'public-key', clientExtensionResults: {} } as const;
}

/** The head of a map with three entries: `fmt`, `attStmt` and `authData`, in any order. */
const MAP_OF_THREE = 0xa3;
/** Major types of CBOR (RFC 8949, section 3.1). */
const [BYTES, TEXT, ARRAY, MAP, TAG] = [2, 3, 4, 5, 6];
/** The object with the format `none` and no statement, up to the authenticator data. */
const NONE = Buffer.from('a363666d74646e6f6e656761747453746d74a0686175746844617461', 'hex');

/**
 * Returns the attestation object (CBOR) with the format `none` in place of its own. Usher asks for no statement about the
 * authenticator, but some send one, and the library would parse its certificates.
 *
 * @throws ServiceError `Invalid passkey` for bytes that are no attestation object
 */
export function withoutAttestation(attestationObject: Buffer): Buffer {
  const reader = new CborReader(attestationObject);
  requireValid(reader.readByte() === MAP_OF_THREE);
  let authData = attestationObject;
  const names = Array.from({ length: 3 }, () => {
    const name = reader.readString(TEXT).toString();
    if (name === 'fmt') reader.readString(TEXT);
    else if (name === 'attStmt') reader.skipMap();
    else authData = reader.readString(BYTES);
    return name;
  });
  requireValid(names.sort().join() === 'attStmt,authData,fmt' && reader.isAtEnd);
  const head = Buffer.of((BYTES << 5) | 25, authData.length >> 8, authData.length & 255);
  return Buffer.concat([NONE, head, authData]);
}

class CborReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  readByte(): number {
    return this.#read(1).readUInt8();
  }

  readString(type: number): Buffer {
    const head = this.#readHead();
    requireValid(head.type === type);
    return this.#read(head.value);
  }

  /** Skips a map and all that it contains. */
  skipMap(): void {
    requireValid((this.#bytes[this.#at] ?? 0) >> 5 === MAP);
    // Each item has a byte, so a number of more items than bytes ends at the last byte.
    for (let left = 1; left > 0; left--) {
      const { type, value } = this.#readHead();
      if (type === BYTES || type === TEXT) this.#read(value);
      else if (type === ARRAY) left += value;
      else if (type === MAP) left += 2 * value;
      else if (type === TAG) left++;
    }
  }

  /** Reads a type with its length or value, of at most eight bytes. */
  #readHead(): { type: number; value: number } {
    const head = this.readByte();
    const size = head & 31;
    requireValid(size < 28);
    const bytes = 2 ** (size - 24);
    // Lengths of more bytes than the largest object has are refused where they are read.
    const value =
      size < 24 ? size : bytes === 8 ? Number(this.#read(8).readBigUInt64BE()) : this.#read(bytes).readUIntBE(0, bytes);
    return { type: head >> 5, value };
  }

  #read(length: number): Buffer {
    requireValid(length <= this.#bytes.length - this.#at);
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}
