/** The cookies that bind a login to one browser, and the form token that binds forms to them. */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { parseCookie, stringifySetCookie } from 'cookie';
import { INTENT_LIFETIME_MS } from '../../domain/login/generate-auth-url.ts';
import type { Browser } from '../../domain/sessions/browser.ts';
import { headerOf } from '../../http/exchange.ts';
import type { HttpContext } from '../../http/http-context.ts';

/** The secrets of the logins that a browser completes, as `bindAnswer` returns them. */
interface Answers extends Pick<Browser, 'answerDigest' | 'knownAnswers'> {
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

/**
 * The cookie with the secrets of the logins that this browser has completed last. Only who has the secret of a login
 * gets its answer again, and may add passkeys. The cookie that identifies the browser is older than the sign-in, so
 * somebody may have copied it before, as on a shared computer.
 */
const ANSWER_COOKIE = 'usher-answer';
/** Longer than an auth token is valid: until a login that began before is over, it also shows who has signed in since. */
const ANSWER_SECONDS = INTENT_LIFETIME_MS / 1_000;
/** The logins that a person may complete at once, in the tabs of a browser. */
const MAX_LOGINS = 4;

/** Returns a value that makes a form differ from all others. */
export function createFormNonce(): string {
  return randomBytes(16).toString('base64url');
}

/**
 * Returns the browser with its secrets, and with a new one for the login that this request may complete. The same form
 * sent twice has the same secret, so that a browser that has not got the first reply gets the same answer. Nobody else
 * can guess it: the form has a nonce.
 */
export function bindAnswer(
  context: HttpContext,
  browser: Omit<KnownBrowser, keyof Answers>,
  postedForm = '',
): KnownBrowser {
  const isUnique = /^[\w-]{22}$/.test(new URLSearchParams(postedForm).get('once') ?? '');
  const secret = isUnique ? hash('sha256', `answer ${postedForm}`, 'base64url') : randomBytes(32).toString('base64url');
  const knownAnswers = readSecrets(context, browser).map(digestOf);
  return { ...browser, answerSecret: secret, answerDigest: digestOf(secret), knownAnswers };
}

/** Gives the browser the secret of the login that this request has completed, or one with the same form before. */
export function keepAnswer({ context, browser }: { context: HttpContext; browser: KnownBrowser }): void {
  const others = readSecrets(context, browser).filter((secret) => secret !== browser.answerSecret);
  const secrets = [browser.answerSecret, ...others].slice(0, MAX_LOGINS);
  setCookie(context, cookieName(ANSWER_COOKIE, browser), secrets.join('.'), ANSWER_SECONDS, browser.isSecure);
}

function readSecrets(context: HttpContext, browser: Pick<KnownBrowser, 'isSecure'>): readonly string[] {
  const secrets = (readCookie(context, cookieName(ANSWER_COOKIE, browser)) ?? '').split('.', MAX_LOGINS);
  return secrets.filter((secret) => /^[\w-]{43}$/.test(secret));
}

function digestOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
