/** The link that restores the old e-mail address, for a user whose address somebody else has changed. */
import { openToken, sealToken } from '../aes-gcm.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { endUserSessions } from '../users/end-user-sessions.ts';
import { getUser } from '../users/get-user.ts';
import { updateUser } from '../users/update-user.ts';

/** How long the link works. */
export const UNDO_DAYS = 7;
const LIFETIME_MS = UNDO_DAYS * 24 * 60 * 60_000;
const PURPOSE = 'undo a change of address';

export interface AddressChange {
  readonly userId: string;
  readonly from: string;
  readonly to: string;
}

/** Returns the token of the link. It is encrypted, because it contains two e-mail addresses. */
export function createUndoToken(keys: readonly Buffer[], { userId, from, to }: AddressChange, now: Date): string {
  return sealToken(keys, JSON.stringify([userId, from, to, now.getTime() + LIFETIME_MS]), PURPOSE);
}

/** Returns the change that the token is for. Returns undefined for an invalid token, and after 7 days. */
export function readUndoToken(keys: readonly Buffer[], token: string, now: Date): AddressChange | undefined {
  const text = openToken(keys, token, PURPOSE);
  if (text === undefined) return undefined;
  const [userId, from, to, expiresAt] = JSON.parse(text);
  return now.getTime() < expiresAt ? { userId, from, to } : undefined;
}

/**
 * Restores the old address and ends every sign-in. If the user has the old address already, nothing changes.
 *
 * @throws ServiceError `User not found` if the user has another address by now, `User already exists` if somebody else has
 * the old one
 */
export async function undoAddressChange(call: Call, { userId, from, to }: AddressChange): Promise<void> {
  const user = await getUser(call, { userId });
  if (user.email === from) return;
  if (user.email !== to) throw new ServiceError('USER_NOT_FOUND');
  await updateUser(call, { userId, email: from });
  await endUserSessions(call, { userId });
}
