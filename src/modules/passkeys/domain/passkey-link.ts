/** The link in the notice of a new passkey. It removes the passkey, which somebody else may have added. */

import type { Call } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import type { DerivedKeys } from '../../../domain/crypto/derived-keys.ts';
import { endUserSessions } from '../../../domain/lifecycle/end-user-sessions.ts';
import { createNoticeToken, readNoticeToken } from '../../../domain/notices/notice-token.ts';
import { deletePasskey } from '../../../domain/passkeys/delete-passkey.ts';
import { followNoticeLink } from '../../../domain/users/still-signed-in.ts';

const PURPOSE = 'remove a new passkey';

interface AddedPasskey {
  readonly userId: string;
  readonly passkeyId: string;
  /** When it was added. */
  readonly at: Date;
}

export function createPasskeyToken(keys: DerivedKeys, { userId, passkeyId, at }: AddedPasskey): string {
  return createNoticeToken(keys, PURPOSE, [userId, passkeyId], at);
}

export function readPasskeyToken(keys: DerivedKeys, token: string, now: Date): AddedPasskey | undefined {
  const read = readNoticeToken(keys, PURPOSE, token, now);
  const [userId = '', passkeyId = ''] = read?.facts ?? [];
  return read && { userId, passkeyId, at: read.at };
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
