/** The cookie of the sign-in that a browser remembers. */
import type { HttpContext } from '../../http/http-context.ts';
import { cookieName, type KnownBrowser, readCookie, setCookie } from '../../login-page/browser/browser-cookie.ts';
import type { OwnBrowser } from '../../login-page/offer/browser-sign-ins.ts';
import { forgetSignIn } from './domain/forget-sign-in.ts';

/** This cookie has a new value after every sign-in, unlike the cookie that identifies the browser. */
const COOKIE = 'usher-sso';

type CookieBrowser = Pick<KnownBrowser, 'isSecure'>;

export function readSignInToken(context: HttpContext, browser: CookieBrowser): string | undefined {
  const token = readCookie(context, cookieName(COOKIE, browser)) ?? '';
  return /^[\w-]{43}$/.test(token) ? token : undefined;
}

export function writeSignInToken(
  context: HttpContext,
  browser: CookieBrowser,
  token: string,
  maxAgeSeconds: number,
): void {
  setCookie(context, cookieName(COOKIE, browser), token, maxAgeSeconds, browser.isSecure);
}

/**
 * Forgets the sign-in, in this browser and in Postgres, and returns its user. With a user ID, only a sign-in of that
 * user.
 */
export async function forgetHere({ context, call, browser }: OwnBrowser, userId?: string): Promise<string | undefined> {
  const token = readSignInToken(context, browser);
  const forgotten = token === undefined ? undefined : await forgetSignIn(call, token, userId);
  if (forgotten || userId === undefined) writeSignInToken(context, browser, '', 0);
  return forgotten;
}
