/** Signing in to the account page: a login at an application of Usher's own. */

import { openAccount } from '../../domain/account/open-account.ts';
import { ACCOUNT_CLIENT_ID, accountApplication } from '../../domain/applications/account-application.ts';
import { ServiceError } from '../../domain/core/errors.ts';
import { createAuthPageLink, generateAuthUrl } from '../../domain/login/generate-auth-url.ts';
import { hmac } from '../../domain/login/login-code.ts';
import { siteOf } from '../../domain/login/network.ts';
import { type RateLimit, takePermit } from '../../domain/login/rate-limit.ts';
import { type LoginRequest, pickFields } from '../login-request.ts';
import { beginLogin, endLogin, type PendingLoginsCookie } from '../pending-logins.ts';
import { sendRedirect } from '../responses.ts';
import { signOutHere } from '../sign-out-here.ts';
import { writeAccountCookie } from './account-cookie.ts';
import { accountUrlOf, readAccount, redirect } from './account-request.ts';

/** Limits the logins that begin in a site, an IP prefix of 24 or 48 bits: each stores a row for half an hour. */
const LOGINS: RateLimit = { burst: 100, intervalMs: 10_000 };

/** @param prompt `LOGIN` or `PASSKEYS`, or an empty string */
export async function beginAccountLogin(
  request: LoginRequest,
  prompt: string = pickFields(request, 'prompt').prompt,
): Promise<void> {
  const { call, browser, context, parts } = request;
  const key = hmac(parts.codes.keys[0], `account logins: ${siteOf(browser.address)}`);
  const isAdmitted = parts.logins.take(browser.address, call.now) && (await takePermit(call, key, LOGINS));
  if (!isAdmitted) return redirect(request, '', { problem: 'TOO_MANY_LOGINS' });
  const redirectUri = `${accountUrlOf(parts.authPageUrl)}/return`;
  const state = beginLogin(context, begunLoginsOf(request), '');
  const { authUrl } = await generateAuthUrl(
    { ...call, application: accountApplication(redirectUri) },
    createAuthPageLink(parts.authPageUrl),
    { clientId: ACCOUNT_CLIENT_ID, redirectUri, state, prompt },
  );
  sendRedirect(context, authUrl);
}

/** Redeems the auth token with which the login page redirects to the account page, as to any application. */
export async function finishAccountLogin(request: LoginRequest): Promise<void> {
  const { context, call, browser, parts } = request;
  const { authToken, state, error } = pickFields(request, 'authToken', 'state', 'error');
  const isOwn = endLogin(context, begunLoginsOf(request), state) !== undefined;
  const signIn = isOwn ? await open(request, authToken) : undefined;
  if (signIn) writeAccountCookie(context, browser, parts.accountKeys, signIn, call.now);
  // Whoever opens an old address while signed in sees the account.
  const isOpen = signIn !== undefined || (await readAccount(request)) !== undefined;
  redirect(request, '', isOpen || error ? {} : { problem: 'OTHER' });
}

async function open({ call, parts }: LoginRequest, authToken: string) {
  return openAccount(call, parts.tokens, authToken).catch((error: unknown) => {
    if (error instanceof ServiceError) return undefined;
    throw error;
  });
}

function begunLoginsOf({ browser, parts }: LoginRequest): PendingLoginsCookie {
  const { isSecure } = browser;
  return { keys: parts.accountKeys, isSecure, name: 'usher-account-login', purpose: 'account logins' };
}

/** Also forgets the remembered sign-in. Otherwise the next person at this browser could continue it. */
export async function signOut(request: LoginRequest): Promise<void> {
  await signOutHere(request);
  redirect(request, '');
}
