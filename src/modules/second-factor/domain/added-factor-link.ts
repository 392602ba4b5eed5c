/** The link in the notice of a new authenticator app. It removes the app, which somebody else may have added. */

import type { Call } from '../../../domain/core/call.ts';
import type { DerivedKeys } from '../../../domain/crypto/derived-keys.ts';
import { endUserSessions } from '../../../domain/lifecycle/end-user-sessions.ts';
import { createNoticeToken, readNoticeToken } from '../../../domain/notices/notice-token.ts';
import { removeSecondFactor } from '../../../domain/second-factor/remove-second-factor.ts';
import { followNoticeLink } from '../../../domain/users/still-signed-in.ts';

const PURPOSE = 'remove a new second factor';

interface AddedFactor {
  readonly userId: string;
  readonly id: string;
  /** When it was added. */
  readonly at: Date;
}

export function createAddedFactorToken(keys: DerivedKeys, { userId, id, at }: AddedFactor): string {
  return createNoticeToken(keys, PURPOSE, [userId, id], at);
}

export function readAddedFactorToken(keys: DerivedKeys, token: string, now: Date): AddedFactor | undefined {
  const read = readNoticeToken(keys, PURPOSE, token, now);
  const [userId = '', id = ''] = read?.facts ?? [];
  return read && { userId, id, at: read.at };
}

/**
 * Removes the app, and then ends every sign-in of the user. A second click ends the sign-ins again: the first may have
 * failed between the two.
 *
 * @throws ServiceError `User not found` as `followNoticeLink` does
 */
export async function removeAddedFactor(call: Call, { userId, id, at }: AddedFactor): Promise<void> {
  const asNotified = await followNoticeLink(call, { userId, at });
  await removeSecondFactor(asNotified, { userId }, { id });
  await endUserSessions(asNotified, { userId });
}
