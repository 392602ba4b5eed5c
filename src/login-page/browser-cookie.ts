/** The cookie that binds a login to one browser, and the form token that binds forms to the cookie. */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Browser } from '../domain/login/browser.ts';
import { type HttpContext, headerOf } from '../http/http-context.ts';

export interface KnownBrowser extends Browser {
  readonly formToken: string;
  /** Whether the request had no valid cookie. */
  readonly isNew: boolean;
  /** Whether the public URL is https. */
  readonly isSecure: boolean;
}

/** The longest that browsers keep a cookie (RFC 6265bis, section 5.5). A known browser has limits of its own. */
const BROWSER_SECONDS = 400 * 24 * 60 * 60;

/** Returns the browser of the request. The response sets the cookie of a new one. */
export function identifyBrowser(context: HttpContext, isSecure: boolean): KnownBrowser {
  const name = cookieName(isSecure);
  const given = readCookie(context, name);
  const known = given !== undefined && /^[\w-]{43}$/.test(given) ? given : undefined;
  const secret = known ?? randomBytes(32).toString('base64url');
  if (!known) {
    context.response.appendHeader(
      'set-cookie',
      `${name}=${secret}; Path=/; Max-Age=${BROWSER_SECONDS}; HttpOnly; SameSite=Lax${secureFlag(isSecure)}`,
    );
  }
  return {
    digest: hash('sha256', `browser ${secret}`, 'buffer'),
    formToken: hash('sha256', `form ${secret}`, 'base64url'),
    isNew: !known,
    address: context.clientAddress,
    isSecure,
  };
}

/** Returns whether a form comes from a page that this browser was shown. */
export function isOwnForm({ formToken }: KnownBrowser, given: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', formToken, 'buffer'));
}

/** The prefix keeps other hosts from setting the cookie over https (RFC 6265bis, section 4.1.3.2). */
function cookieName(isSecure: boolean): string {
  return isSecure ? '__Host-usher' : 'usher';
}

function secureFlag(isSecure: boolean): string {
  return isSecure ? '; Secure' : '';
}

const EMAIL_COOKIE = 'usher-email';
const EMAIL_SECONDS = 600;
/** No address is longer. Browsers drop cookies above 4 KiB. */
const EMAIL_LENGTH = 254;

/** Stores the e-mail address for the page where the user enters the code. */
export function setEmailCookie({ response }: HttpContext, { isSecure }: KnownBrowser, email: string): void {
  const value = encodeURIComponent(email.slice(0, EMAIL_LENGTH).toWellFormed());
  response.appendHeader(
    'set-cookie',
    `${EMAIL_COOKIE}=${value}; Path=/; Max-Age=${EMAIL_SECONDS}; HttpOnly; SameSite=Lax${secureFlag(isSecure)}`,
  );
}

/** Returns an empty string if there is none. */
export function readEmailCookie(context: HttpContext): string {
  try {
    return decodeURIComponent(readCookie(context, EMAIL_COOKIE) ?? '');
  } catch {
    return '';
  }
}

function readCookie({ request }: HttpContext, name: string): string | undefined {
  for (const pair of (headerOf(request, 'cookie') ?? '').split(';')) {
    const [key, value = ''] = pair.trim().split('=');
    if (key === name) return value;
  }
  return undefined;
}
