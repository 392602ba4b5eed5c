/** The sign-in that a browser remembers, and can continue in applications that share sign-ins. */
import type { Completion } from '../domain/login/complete-login.ts';
import { completeRememberedLogin } from '../domain/remembered-sign-ins/complete-remembered-login.ts';
import { forgetSignIn } from '../domain/remembered-sign-ins/forget-sign-in.ts';
import { rememberSignIn } from '../domain/remembered-sign-ins/remember-sign-in.ts';
import type { HttpContext } from '../http/http-context.ts';
import { cookieName, type KnownBrowser, readCookie, setCookie } from './browser-cookie.ts';
import type { LoginRequest } from './login-request.ts';
import { redirectToForm } from './redirect-to-form.ts';
import { sendRedirect } from './responses.ts';

/** This cookie has a new value after every sign-in, unlike the cookie that identifies the browser. */
const COOKIE = 'usher-sso';

export function readSignInToken(context: HttpContext, browser: Pick<KnownBrowser, 'isSecure'>): string | undefined {
  const token = readCookie(context, cookieName(COOKIE, browser)) ?? '';
  return /^[\w-]{43}$/.test(token) ? token : undefined;
}

export async function continueSignIn({ context, call, browser, fields, parts }: LoginRequest): Promise<void> {
  const token = readSignInToken(context, browser);
  sendRedirect(context, (await completeRememberedLogin(call, parts, browser, token, fields)).redirectUrl);
}

/** Forgets the sign-in, and shows the choice of how to sign in as somebody else. */
export async function forgetAndChoose(request: LoginRequest): Promise<void> {
  await forgetHere(request);
  redirectToForm(request, 'choice');
}

/** Forgets the sign-in, in this browser and in Postgres. With a user ID, only a sign-in of that user. */
export async function forgetHere(
  { context, call, browser }: Pick<LoginRequest, 'context' | 'call'> & { browser: Pick<KnownBrowser, 'isSecure'> },
  userId?: string,
): Promise<void> {
  const token = readSignInToken(context, browser);
  const isForgotten = token !== undefined && (await forgetSignIn(call, token, userId));
  if (isForgotten || userId === undefined) setCookie(context, cookieName(COOKIE, browser), '', 0, browser.isSecure);
}

/** Remembers a sign-in in this browser. An error is ignored: the next application then asks for a new sign-in. */
export async function rememberCompletion(
  { context, call, browser, parts }: LoginRequest,
  { signIn }: Pick<Completion, 'signIn'>,
): Promise<void> {
  const maxAgeSeconds = parts.singleSignOnMaxAgeSeconds;
  if (!signIn || maxAgeSeconds === 0) return;
  const formerToken = readSignInToken(context, browser);
  const token = await rememberSignIn(call, signIn, { formerToken, maxAgeSeconds }).catch(() => undefined);
  if (token) setCookie(context, cookieName(COOKIE, browser), token, maxAgeSeconds, browser.isSecure);
}
