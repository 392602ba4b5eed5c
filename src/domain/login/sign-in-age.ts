/** For how long a sign-in proves who is at the browser. Continuing a remembered sign-in proves nothing. */
import { IMPERSONATION, type SignInMethod } from '../tokens/verify-token.ts';

/** The greatest age of a sign-in for changes on the account page, and for sensitive pages of the console. */
export const FRESH_MINUTES = 15;

/** The greatest age of a sign-in for changes of how to sign in: passkeys, wallets and accounts at providers. */
export const RECENT_MINUTES = 10;

/**
 * Returns the instant of a sign-in as applications learn it. A sign-in on behalf of the user is one of 1970, so that no
 * application takes it for a fresh one.
 */
export function shownSignInTime(method: SignInMethod, at: Date): Date {
  return method === IMPERSONATION ? new Date(0) : at;
}
