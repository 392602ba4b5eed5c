/** The link in the notice of a new passkey. It removes the passkey, which somebody else may have added. */

import type { Call } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { openToken, sealToken } from '../../../domain/crypto/aes-gcm.ts';
import type { DerivedKeys } from '../../../domain/crypto/derived-keys.ts';
import { endUserSessions } from '../../../domain/lifecycle/end-user-sessions.ts';
import { deletePasskey } from '../../../domain/passkeys/delete-passkey.ts';
import { followNoticeLink } from '../../../domain/users/still-signed-in.ts';

/** How long a passkey is young that was added after a sign-in without another one. */
export const YOUNG_PASSKEY_DAYS = 7;

const LIFETIME_MS = YOUNG_PASSKEY_DAYS * 24 * 60 * 60_000;
const PURPOSE = 'remove a new passkey';

interface AddedPasskey {
  readonly userId: string;
  readonly passkeyId: string;
  /** When it was added. */
  readonly at: Date;
}

/** Returns the token of the link, which works for 7 days. */
export function createPasskeyToken(keys: DerivedKeys, { userId, passkeyId, at }: AddedPasskey): string {
  return sealToken(keys, JSON.stringify([userId, passkeyId, at.getTime() + LIFETIME_MS]), PURPOSE);
}

/** Returns undefined for an invalid token, and after 7 days. */
export function readPasskeyToken(keys: DerivedKeys, token: string, now: Date): AddedPasskey | undefined {
  const text = openToken(keys, token, PURPOSE);
  if (text === undefined) return undefined;
  const [userId, passkeyId, expiresAt] = JSON.parse(text);
  return now.getTime() < expiresAt ? { userId, passkeyId, at: new Date(expiresAt - LIFETIME_MS) } : undefined;
}

/**
 * Removes the passkey, and then ends every sign-in of the user. A second click ends the sign-ins again: the first may
 * have failed between the two.
 *
 * @throws ServiceError `User not found` as `followNoticeLink` does
 */
export async function removeAddedPasskey(call: Call, added: AddedPasskey): Promise<void> {
  const asNotified = await followNoticeLink(call, added);
  await deletePasskey(asNotified, added).catch((error: unknown) => {
    if (!(error instanceof ServiceError)) throw error;
  });
  await endUserSessions(asNotified, added);
}
