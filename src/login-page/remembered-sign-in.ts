/** The sign-in that a browser remembers, and can continue in applications that share sign-ins. */
import type { Completion } from '../domain/login/complete-login.ts';
import { completeRememberedLogin } from '../domain/remembered-sign-ins/complete-remembered-login.ts';
import { forgetSignIn } from '../domain/remembered-sign-ins/forget-sign-in.ts';
import { rememberSignIn } from '../domain/remembered-sign-ins/remember-sign-in.ts';
import type { HttpContext } from '../http/http-context.ts';
import { keepAnswer } from './answer-cookie.ts';
import { cookieName, type KnownBrowser, readCookie, setCookie } from './browser-cookie.ts';
import type { LoginRequest } from './login-request.ts';
import { sendRedirect } from './responses.ts';

/** This cookie has a new value after every sign-in, unlike the cookie that identifies the browser. */
const COOKIE = 'usher-sso';

export function readSignInToken(context: HttpContext, browser: Pick<KnownBrowser, 'isSecure'>): string | undefined {
  const token = readCookie(context, cookieName(COOKIE, browser)) ?? '';
  return /^[\w-]{43}$/.test(token) ? token : undefined;
}

export async function continueSignIn(request: LoginRequest): Promise<void> {
  const { context, call, browser, fields, parts } = request;
  const token = readSignInToken(context, browser);
  const { redirectUrl } = await completeRememberedLogin(call, parts, browser, token, fields);
  keepAnswer(request);
  sendRedirect(context, redirectUrl);
}

/**
 * Forgets the sign-in, in this browser and in Postgres, and returns its user. With a user ID, only a sign-in of that
 * user.
 */
export async function forgetHere(
  { context, call, browser }: Pick<LoginRequest, 'context' | 'call'> & { browser: Pick<KnownBrowser, 'isSecure'> },
  userId?: string,
): Promise<string | undefined> {
  const token = readSignInToken(context, browser);
  const forgotten = token === undefined ? undefined : await forgetSignIn(call, token, userId);
  if (forgotten || userId === undefined) setCookie(context, cookieName(COOKIE, browser), '', 0, browser.isSecure);
  return forgotten;
}

/** Remembers a sign-in in this browser. An error is ignored: the next application then asks for a new sign-in. */
export async function rememberCompletion(
  { context, call, browser, parts }: LoginRequest,
  { signIn }: Pick<Completion, 'signIn'>,
): Promise<void> {
  const maxAgeSeconds = parts.singleSignOnMaxAgeSeconds;
  if (!signIn || maxAgeSeconds === 0) return;
  const formerToken = readSignInToken(context, browser);
  const token = await rememberSignIn(call, browser, signIn, { formerToken, maxAgeSeconds }).catch(() => undefined);
  if (token) setCookie(context, cookieName(COOKIE, browser), token, maxAgeSeconds, browser.isSecure);
}
