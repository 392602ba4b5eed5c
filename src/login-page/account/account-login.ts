/** Signing in to the account page: a login at an application of Usher's own. */
import { ACCOUNT_CLIENT_ID, accountApplication } from '../../domain/account/account-application.ts';
import { ServiceError } from '../../domain/errors.ts';
import { createAuthPageLink, generateAuthUrl } from '../../domain/login/generate-auth-url.ts';
import { hmac } from '../../domain/login/login-code.ts';
import { siteOf } from '../../domain/login/network.ts';
import { type RateLimit, takePermit } from '../../domain/login/rate-limit.ts';
import { isSameText } from '../browser-cookie.ts';
import type { LoginRequest } from '../login-request.ts';
import { forgetHere } from '../remembered-sign-in.ts';
import { sendRedirect } from '../responses.ts';
import { accountStateOf, removeAccountCookie, writeAccountCookie } from './account-cookie.ts';
import { accountUrlOf, redirect } from './account-request.ts';

/** Limits the logins that begin in a site, an IP prefix of 24 or 48 bits: each stores a row for half an hour. */
const LOGINS: RateLimit = { burst: 100, intervalMs: 10_000 };

export async function beginAccountLogin(request: LoginRequest): Promise<void> {
  const { call, browser, context, fields, parts } = request;
  const key = hmac(parts.codes.keys[0], `account logins: ${siteOf(browser.address)}`);
  if (!(await takePermit(call, key, LOGINS))) return redirect(request, '', { problem: 'Too many logins' });
  const redirectUri = `${accountUrlOf(request)}/return`;
  const { authUrl } = await generateAuthUrl(
    { ...call, application: accountApplication(redirectUri) },
    createAuthPageLink(parts.authPageUrl),
    { clientId: ACCOUNT_CLIENT_ID, redirectUri, state: accountStateOf(browser), prompt: fields.prompt },
  );
  sendRedirect(context, authUrl);
}

/** Redeems the auth token with which the login page redirects to the account page, as to any application. */
export async function finishAccountLogin(request: LoginRequest): Promise<void> {
  const { context, call, browser, fields, parts } = request;
  if (!isSameText(fields.state, accountStateOf(browser)))
    return redirect(request, '', fields.error ? {} : { problem: 'Other' });
  const signIn = await parts.tokens.verify(fields.authToken, ACCOUNT_CLIENT_ID, call.now).catch((error: unknown) => {
    if (error instanceof ServiceError) return undefined;
    throw error;
  });
  if (signIn) writeAccountCookie(context, browser, parts.accountKeys, signIn, call.now);
  redirect(request, '', signIn || fields.error ? {} : { problem: 'Other' });
}

/** Also forgets the remembered sign-in. Otherwise the next person at this browser could continue it. */
export async function signOut(request: LoginRequest): Promise<void> {
  await forgetHere(request);
  removeAccountCookie(request.context, request.browser);
  redirect(request, '');
}
