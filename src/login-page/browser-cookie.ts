/** The cookie that binds a login to one browser, and the form token that binds forms to the cookie. */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { parseCookie, stringifySetCookie } from 'cookie';
import type { Browser } from '../domain/sessions/browser.ts';
import { headerOf } from '../http/exchange.ts';
import type { HttpContext } from '../http/http-context.ts';

/** The secrets of the logins that a browser completes, as `bindAnswer` returns them. */
export interface Answers extends Pick<Browser, 'answerDigest' | 'knownAnswers'> {
  /** The secret of the login that this request completes. */
  readonly answerSecret: string;
}

/** A browser whose secrets of logins were not read. */
export type IdentifiedBrowser = Omit<KnownBrowser, keyof Answers>;

export interface KnownBrowser extends Browser, Answers {
  readonly formToken: string;
  /** Whether the request had no valid cookie. */
  readonly isNew: boolean;
  /** Whether the public URL is https. */
  readonly isSecure: boolean;
}

/** The longest lifetime that browsers allow (RFC 6265bis, section 5.5). A browser is known for a shorter time. */
export const MAX_COOKIE_SECONDS = 400 * 24 * 60 * 60;

/** Returns the browser of the request. Sets a cookie if the browser has none. */
export function identifyBrowser(context: HttpContext, isSecure: boolean): IdentifiedBrowser {
  const name = cookieName('usher', { isSecure });
  const given = readCookie(context, name);
  const known = given !== undefined && /^[\w-]{43}$/.test(given) ? given : undefined;
  const secret = known ?? randomBytes(32).toString('base64url');
  if (!known) setCookie(context, name, secret, MAX_COOKIE_SECONDS, isSecure);
  return {
    digest: hash('sha256', `browser ${secret}`, 'buffer'),
    formToken: hash('sha256', `form ${secret}`, 'base64url'),
    isNew: !known,
    address: context.clientAddress,
    userAgent: headerOf(context.request, 'user-agent') ?? '',
    isSecure,
  };
}

/** Returns undefined if the browser has no cookie, and sets none. */
export function identifyKnownBrowser(context: HttpContext, isSecure: boolean): IdentifiedBrowser | undefined {
  const isKnown = readCookie(context, cookieName('usher', { isSecure })) !== undefined;
  return isKnown ? identifyBrowser(context, isSecure) : undefined;
}

/** Returns whether the form comes from a page that Usher showed to this browser. This prevents CSRF. */
export function isOwnForm({ formToken }: Pick<KnownBrowser, 'formToken'>, given: string): boolean {
  return isSameText(given, formToken);
}

/** Compares in constant time. */
export function isSameText(given: string, expected: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', expected, 'buffer'));
}

/** Returns the name with the prefix `__Host-`, which keeps other hosts from setting the cookie (RFC 6265bis, 4.1.3.2). */
export function cookieName(name: `usher${string}`, { isSecure }: Pick<KnownBrowser, 'isSecure'>): string {
  return isSecure ? `__Host-${name}` : name;
}

/** Not `usher-email`, which version 1.0.0 reads as an address alone. */
const EMAIL_COOKIE = 'usher-email-login';
const EMAIL_SECONDS = 600;
/** The length of the longest valid address. Browsers drop cookies above 4 KiB. */
const EMAIL_LENGTH = 254;

/** Stores the e-mail address that the forms of the login fill in. */
export function setEmailCookie(
  context: HttpContext,
  { isSecure }: Pick<KnownBrowser, 'isSecure'>,
  loginIntentId: string,
  email: string,
): void {
  const value = `${loginIntentId}.${email.slice(0, EMAIL_LENGTH).toWellFormed()}`;
  setCookie(context, EMAIL_COOKIE, value, EMAIL_SECONDS, isSecure);
}

/** Returns an empty string if there is none, or if a login in another tab has replaced it. */
export function readEmailCookie(context: HttpContext, loginIntentId: string): string {
  const value = readCookie(context, EMAIL_COOKIE) ?? '';
  return value.startsWith(`${loginIntentId}.`) ? value.slice(loginIntentId.length + 1) : '';
}

export function setCookie(
  { response }: HttpContext,
  name: string,
  value: string,
  maxAge: number,
  secure: boolean,
): void {
  const cookie = { name, value, path: '/', maxAge, httpOnly: true, sameSite: 'lax', secure } as const;
  response.appendHeader('set-cookie', stringifySetCookie(cookie));
}

export function readCookie({ request }: HttpContext, name: string): string | undefined {
  return parseCookie(headerOf(request, 'cookie') ?? '')[name];
}
