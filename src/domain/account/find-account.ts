import { columnsOf, p, statement } from '../../database/template.ts';
import type { Call } from '../call.ts';
import type { SignInMethod } from '../login/verify-token.ts';
import { isSignInAfterEveryCutoff } from '../sessions/cutoffs.ts';
import { type User, userColumns } from '../users/user.ts';
import { ACCOUNT_APPLICATION_ID } from './account-application.ts';

/** A sign-in to the account page. */
export interface AccountSignIn {
  readonly loginIntentId: string;
  readonly userId: string;
  readonly authenticatedAt: Date;
  readonly method: SignInMethod;
}

/** Returns the user of a sign-in, or undefined if a revocation has ended the sign-in. */
export async function findAccount(call: Call, { userId, authenticatedAt }: AccountSignIn): Promise<User | undefined> {
  const [user] = await call.run(selectAccount, { applicationId: ACCOUNT_APPLICATION_ID, userId, authenticatedAt });
  return user;
}

const selectAccount = statement('select_account', userColumns)`
  select ${columnsOf(userColumns)} from users
  where ${isSignInAfterEveryCutoff(p.instant('authenticatedAt'))}`;
