import { showEmail } from '../../../config/email-address.ts';
import type { Call } from '../../../domain/core/call.ts';
import type { RecentSignIn } from '../../../domain/login/recent-sign-in.ts';
import type { Passkey } from '../../../domain/passkeys/list-passkeys.ts';
import type { Browser } from '../../../domain/sessions/browser.ts';
import { toUuidBytes } from '../../../encoding/uuid-bytes.ts';
import { createChallenge } from './challenge.ts';
import type { RelyingParty } from './relying-party.ts';
import { ALGORITHMS } from './verify-passkey.ts';

/**
 * PublicKeyCredentialCreationOptions of WebAuthn as JSON, with bytes in base64url. The script of the page decodes them.
 */
export interface CreationOptions {
  readonly challenge: string;
  readonly rp: { readonly id: string; readonly name: string };
  readonly user: { readonly id: string; readonly name: string; readonly displayName: string };
  readonly pubKeyCredParams: readonly { readonly type: 'public-key'; readonly alg: number }[];
  readonly excludeCredentials: readonly {
    readonly type: 'public-key';
    readonly id: string;
    readonly transports: readonly string[];
  }[];
  readonly authenticatorSelection: Readonly<Record<string, string | boolean>>;
  readonly attestation: 'none';
}

/** Excludes the existing passkeys of the user: on their device, a new passkey would replace them. */
export function createCreationOptions(
  { now }: Pick<Call, 'now'>,
  { keys, origin, rpId }: RelyingParty,
  browser: Browser,
  { loginIntentId, userId, email, name }: RecentSignIn,
  { passkeys, isOnThisDevice }: { readonly passkeys: readonly Passkey[]; readonly isOnThisDevice: boolean },
): CreationOptions {
  const use = { purpose: 'passkey create', loginIntentId, browser, userId } as const;
  return {
    challenge: createChallenge(keys, use, now),
    rp: { id: rpId, name: new URL(origin).host },
    user: { id: toUserHandle(userId), name: showEmail(email), displayName: name ?? showEmail(email) },
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
    excludeCredentials: passkeys.map(({ credentialId, transports }) => {
      return { type: 'public-key', id: credentialId.toString('base64url'), transports };
    }),
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: 'preferred',
      ...(isOnThisDevice && { authenticatorAttachment: 'platform' }),
    },
    attestation: 'none',
  };
}

/** Returns the 16 bytes of the user ID. Devices recognise by the user handle that passkeys belong to the same user. */
export function toUserHandle(userId: string): string {
  return toUuidBytes(userId).toString('base64url');
}
