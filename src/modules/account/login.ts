/** Signing in to the account page: a login at an application of Usher's own. */

import { ServiceError } from '../../domain/core/errors.ts';
import { hmac } from '../../domain/crypto/derived-keys.ts';
import { createAuthPageLink, generateAuthUrl } from '../../domain/login/generate-auth-url.ts';
import { siteOf } from '../../domain/login/network.ts';
import { type RateLimit, takePermit } from '../../domain/login/rate-limit.ts';
import { readAccountRow } from '../../domain/notices/notice-row.ts';
import { beginLogin, endLogin, type PendingLoginsCookie } from '../../login-page/browser/pending-logins.ts';
import { signOutHere } from '../../login-page/offer/browser-sign-ins.ts';
import { pickFields } from '../../login-page/offer/login-context.ts';
import { sendRedirect } from '../../login-page/pages/responses.ts';
import { writeAccountCookie } from './cookie.ts';
import { ACCOUNT_CLIENT_ID, accountApplication } from './domain/account-application.ts';
import { openAccount } from './domain/open-account.ts';
import { type AccountRequest, accountUrlOf, readAccount, redirect } from './request.ts';

/** Limits the logins that begin in a site, an IP prefix of 24 or 48 bits: each stores a row for half an hour. */
const LOGINS: RateLimit = { burst: 100, intervalMs: 10_000 };

/** @param prompt `LOGIN` or `PASSKEYS`, or an empty string */
export async function beginAccountLogin(
  request: AccountRequest,
  prompt: string = pickFields(request, 'prompt').prompt,
): Promise<void> {
  const { call, browser, context, parts } = request;
  const key = hmac(parts.codes.keys[0], `account logins: ${siteOf(browser.address)}`);
  const isAdmitted = parts.logins.take(browser.address, call.now) && (await takePermit(call, key, LOGINS));
  if (!isAdmitted) return redirect(request, '', { problem: 'TOO_MANY_LOGINS' });
  const redirectUri = `${accountUrlOf(parts.authPageUrl)}/return`;
  const state = beginLogin(context, begunLoginsOf(request), readAccountRow(pickFields(request, 'row').row) ?? '');
  const { authUrl } = await generateAuthUrl(
    { ...call, application: accountApplication(redirectUri) },
    createAuthPageLink(parts.authPageUrl),
    { clientId: ACCOUNT_CLIENT_ID, redirectUri, state, prompt },
  );
  sendRedirect(context, authUrl);
}

/** Redeems the auth token with which the login page redirects to the account page, as to any application. */
export async function finishAccountLogin(request: AccountRequest): Promise<void> {
  const { context, call, browser, own } = request;
  const { authToken, state, error } = pickFields(request, 'authToken', 'state', 'error');
  const row = endLogin(context, begunLoginsOf(request), state);
  const signIn = row !== undefined ? await open(request, authToken) : undefined;
  if (signIn) writeAccountCookie(context, browser, own.keys, signIn, call.now);
  // Whoever opens an old address while signed in sees the account.
  const isOpen = signIn !== undefined || (await readAccount(request)) !== undefined;
  redirect(request, isOpen && row ? `#${row}` : '', isOpen || error ? {} : { problem: 'OTHER' });
}

async function open({ call, parts }: AccountRequest, authToken: string) {
  return openAccount(call, parts.tokens, authToken).catch((error: unknown) => {
    if (error instanceof ServiceError) return undefined;
    throw error;
  });
}

function begunLoginsOf({ browser, own }: AccountRequest): PendingLoginsCookie {
  const { isSecure } = browser;
  return { keys: own.keys, isSecure, name: 'usher-account-login', purpose: 'account logins' };
}

/** Also forgets the remembered sign-in. Otherwise the next person at this browser could continue it. */
export async function signOut(request: AccountRequest): Promise<void> {
  await signOutHere(request);
  redirect(request, '');
}
