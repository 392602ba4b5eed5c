import { users } from '../../../database/schema/schema.ts';
import { columnsOf, p, statement } from '../../../database/sql/template.ts';
import type { Call } from '../../../domain/core/call.ts';
import { ACCOUNT_APPLICATION_ID } from '../../../domain/core/own-applications.ts';
import type { Browser } from '../../../domain/sessions/browser.ts';
import { isSignedInHere } from '../../../domain/sessions/browser-cutoffs.ts';
import { isSignInAfterEveryCutoff } from '../../../domain/sessions/cutoffs.ts';
import type { SignInMethod } from '../../../domain/tokens/verify-token.ts';
import { type User, userColumns } from '../../../domain/users/user.ts';

/** A sign-in to the account page. */
export interface AccountSignIn {
  readonly loginIntentId: string;
  readonly userId: string;
  readonly authenticatedAt: Date;
  readonly method: SignInMethod;
  /** When the sign-in opened the account page. */
  readonly openedAt: Date;
  /** Whether it continued a remembered sign-in, or was on behalf of the user. Then the user has proved nothing here. */
  readonly isContinued: boolean;
}

/**
 * Returns the user of a sign-in in this browser, with the `cutoffCount` of `Call`. Undefined if a revocation or a sign-out
 * has ended the sign-in.
 */
export async function findAccount(
  call: Call,
  { digest }: Pick<Browser, 'digest'>,
  { userId, authenticatedAt }: AccountSignIn,
): Promise<{ user: User; cutoffCount: number } | undefined> {
  const applicationId = ACCOUNT_APPLICATION_ID;
  const [found] = await call.run(selectAccount, { applicationId, userId, authenticatedAt, browserDigest: digest });
  return found;
}

const selectAccount = statement('select_account', { user: userColumns, cutoffCount: users.cutoffCount })`
  select ${columnsOf(userColumns)}, cutoff_count from users
  where ${isSignInAfterEveryCutoff(p.instant('authenticatedAt'))} and ${isSignedInHere(p.instant('authenticatedAt'))}`;
