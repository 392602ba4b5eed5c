/** Signs the people of this browser out of Usher's pages. Applications' sessions live on. */
import { cutOffBrowser } from '../domain/sessions/browser-cutoffs.ts';
import { readAccountCookie, removeAccountCookie } from './account/account-cookie.ts';
import type { LoginRequest } from './login-request.ts';
import { redirectToForm } from './redirect-to-form.ts';
import { forgetHere } from './remembered-sign-in.ts';

/** Ends the sign-in to the account page and the remembered one. Without either, nothing is stored. */
export async function signOutHere(request: LoginRequest): Promise<void> {
  const { context, call, browser, parts } = request;
  const { digest: browserDigest } = browser;
  const signIn = readAccountCookie(context, browser, parts.accountKeys, call.now);
  if (signIn) await cutOffBrowser(call, { ...signIn, browserDigest });
  removeAccountCookie(context, browser);
  const userId = await forgetHere(request);
  if (userId && userId !== signIn?.userId) await cutOffBrowser(call, { userId, browserDigest });
}

/** Signs out, and shows the choice of how to sign in as somebody else. */
export async function signOutAndChoose(request: LoginRequest): Promise<void> {
  await signOutHere(request);
  redirectToForm(request, 'choice');
}
