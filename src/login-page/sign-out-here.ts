/** Signs the people of this browser out of Usher's pages. Applications' sessions live on. */
import { findRememberedUser } from '../domain/remembered-sign-ins/find-remembered-user.ts';
import { cutOffBrowser } from '../domain/sessions/browser-cutoffs.ts';
import { readAccountCookie, removeAccountCookie } from './account/account-cookie.ts';
import type { IdentifiedBrowser } from './browser-cookie.ts';
import type { LoginPageParts, LoginRequest } from './login-request.ts';
import { redirectToForm } from './redirect-to-form.ts';
import { forgetHere, readSignInToken } from './remembered-sign-in.ts';

interface InOwnBrowser extends Pick<LoginRequest, 'context' | 'call'> {
  readonly browser: IdentifiedBrowser;
  readonly parts: Pick<LoginPageParts, 'accountKeys'>;
}

/** Returns the IDs of the users whom the cookies of this browser sign in: at the account page, and to continue. */
export async function findSignedInHere({ context, call, browser, parts }: InOwnBrowser): Promise<readonly string[]> {
  const signIn = readAccountCookie(context, browser, parts.accountKeys, call.now);
  const token = readSignInToken(context, browser);
  const remembered = token === undefined ? undefined : await findRememberedUser(call, token);
  return [...new Set([signIn?.userId, remembered].filter((userId) => userId !== undefined))];
}

/** Ends the sign-in to the account page and the remembered one. Without either, nothing is stored. */
export async function signOutHere(request: InOwnBrowser): Promise<void> {
  const { context, call, browser, parts } = request;
  const { digest: browserDigest } = browser;
  const signIn = readAccountCookie(context, browser, parts.accountKeys, call.now);
  if (signIn) await cutOffBrowser(call, { ...signIn, browserDigest });
  removeAccountCookie(context, browser);
  const userId = await forgetHere(request);
  if (userId && userId !== signIn?.userId) await cutOffBrowser(call, { userId, browserDigest });
}

/** Does the same for one user, whose sign-in in this browser an application has proved. */
export async function signUserOutHere({ context, call, browser, parts }: InOwnBrowser, userId: string): Promise<void> {
  await forgetHere({ context, call, browser }, userId);
  if (readAccountCookie(context, browser, parts.accountKeys, call.now)?.userId === userId) {
    removeAccountCookie(context, browser);
  }
  await cutOffBrowser(call, { userId, browserDigest: browser.digest });
}

/** Signs out, and shows the choice of how to sign in as somebody else. */
export async function signOutAndChoose(request: LoginRequest): Promise<void> {
  await signOutHere(request);
  redirectToForm(request, 'choice');
}
