/**
 * The only file that verifies with `@simplewebauthn/server`. It loads it with the first passkey, because the library
 * takes 25 MB. Errors of the library quote the credential, so they are neither shown nor logged.
 */
import { type Credential, requireValid } from './credential.ts';
import type { RelyingParty } from './relying-party.ts';
import { withoutAttestation } from './without-attestation.ts';

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
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    ...EXPECTED,
    expectedOrigin: origin,
    expectedRPID: rpId,
    response: { ...toEnvelope(id), response: { clientDataJSON, authenticatorData, signature, userHandle } },
    // With zero, the library accepts every counter. That of synced passkeys never increases.
    credential: { id, publicKey: new Uint8Array(publicKey), counter: 0 },
  }).catch(() => ({ verified: false, authenticationInfo: undefined }));
  requireValid(verified && authenticationInfo !== undefined);
  const { newCounter, credentialBackedUp, userVerified } = authenticationInfo;
  return { signCount: newCounter, isBackedUp: credentialBackedUp, isUserVerified: userVerified };
}

/** `requireOwnRequest` checks the challenge. User verification is preferred, so answers without it are accepted. */
const EXPECTED = { expectedChallenge: () => true, requireUserVerification: false };

function toEnvelope(id: string) {
  return { id, rawId: id, type: 'public-key', clientExtensionResults: {} } as const;
}
