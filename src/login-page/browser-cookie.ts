/** The cookie that ties a login to one browser, and the token in its forms that ties them to the cookie. */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Browser } from '../domain/login/browser.ts';
import { type HttpContext, headerOf } from '../http/http-context.ts';

export interface KnownBrowser extends Browser {
  readonly formToken: string;
  /** Whether it came without its cookie. */
  readonly isNew: boolean;
  /** Whether it comes over https. */
  readonly isSecure: boolean;
}

/** The browser of the exchange. One that is new here gets its cookie with the reply. */
export function identifyBrowser(exchange: HttpContext, isSecure: boolean): KnownBrowser {
  const name = cookieName(isSecure);
  const given = readCookie(exchange, name);
  const known = given !== undefined && /^[\w-]{43}$/.test(given) ? given : undefined;
  const secret = known ?? randomBytes(32).toString('base64url');
  if (!known) {
    exchange.response.appendHeader(
      'set-cookie',
      `${name}=${secret}; Path=/; HttpOnly; SameSite=Lax${secureFlag(isSecure)}`,
    );
  }
  return {
    digest: hash('sha256', `browser ${secret}`, 'buffer'),
    formToken: hash('sha256', `form ${secret}`, 'base64url'),
    isNew: !known,
    address: exchange.clientAddress,
    isSecure,
  };
}

/** Whether a form came from a page that this browser was shown. */
export function isOwnForm({ formToken }: KnownBrowser, given: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', formToken, 'buffer'));
}

/** Over https no other host can set it (RFC 6265bis, section 4.1.3.2). */
function cookieName(isSecure: boolean): string {
  return isSecure ? '__Host-usher' : 'usher';
}

function secureFlag(isSecure: boolean): string {
  return isSecure ? '; Secure' : '';
}

const EMAIL_COOKIE = 'usher-email';
const EMAIL_SECONDS = 600;
/** No address is longer, and browsers drop cookies above 4 KiB. */
const EMAIL_LENGTH = 254;

/** Keeps the address a code went to, for the page where the code is typed. */
export function rememberEmail({ response }: HttpContext, { isSecure }: KnownBrowser, email: string): void {
  const value = encodeURIComponent(email.slice(0, EMAIL_LENGTH).toWellFormed());
  response.appendHeader(
    'set-cookie',
    `${EMAIL_COOKIE}=${value}; Path=/; Max-Age=${EMAIL_SECONDS}; HttpOnly; SameSite=Lax${secureFlag(isSecure)}`,
  );
}

/** Empty where there is none. */
export function rememberedEmail(exchange: HttpContext): string {
  try {
    return decodeURIComponent(readCookie(exchange, EMAIL_COOKIE) ?? '');
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
