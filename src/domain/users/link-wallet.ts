import { and, isNull, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { isUniqueViolation } from '../../database/errors.ts';
import { users } from '../../database/schema.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { announce } from '../webhooks/insert-message.ts';
import { type ChangedProfile, changeUser } from './change-user.ts';
import { isExistingUser } from './user.ts';

/**
 * Gives the user the wallet, in place of any other, if the user still has the e-mail address.
 *
 * @throws ServiceError `Wallet already linked` if another has it
 */
export async function linkWallet(
  call: Call,
  link: { readonly userId: string; readonly email: string; readonly walletAddress: string },
): Promise<void> {
  try {
    const [linked] = await call.run(setWallet, { ...link, now: call.now });
    if (linked?.isTaken) throw new ServiceError('WALLET_ALREADY_LINKED');
    if (linked) announce(call.onMessage, linked);
  } catch (error) {
    throw isUniqueViolation(error) ? new ServiceError('WALLET_ALREADY_LINKED') : error;
  }
}

const setWallet: Statement<ChangedProfile[]> = (db) => {
  const walletAddress = sql`${sql.placeholder('walletAddress')}`;
  const hasEmail = sql`lower(${users.email}) = lower(${sql.placeholder('email')})`;
  const condition = and(isExistingUser, isNull(users.deactivatedAt), hasEmail);
  return changeUser(db, { walletAddress }, condition).prepare('link_wallet');
};
