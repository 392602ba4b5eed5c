/** The cookies of the console: the session of the operator, and the login that this browser has begun. */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { openToken, sealToken } from '../domain/aes-gcm.ts';
import { CONSOLE_MAX_AGE_SECONDS } from '../domain/operators/console-application.ts';
import type { HttpContext } from '../http/http-context.ts';
import { readCookie, setCookie } from '../login-page/browser-cookie.ts';
import type { ConsoleKeys } from './keys.ts';

/** As long as a login may take. */
const LOGIN_SECONDS = 30 * 60;
const PURPOSE = 'console login';

export interface CookieSettings {
  readonly keys: ConsoleKeys;
  /** Whether the URL of the console is https. */
  readonly isSecure: boolean;
}

export function readSessionCookie(context: HttpContext, { isSecure }: CookieSettings): string | undefined {
  return readCookie(context, sessionName(isSecure));
}

export function writeSessionCookie(context: HttpContext, { isSecure }: CookieSettings, sessionId: string): void {
  setCookie(context, sessionName(isSecure), sessionId, CONSOLE_MAX_AGE_SECONDS, isSecure);
}

export function removeSessionCookie(context: HttpContext, { isSecure }: CookieSettings): void {
  setCookie(context, sessionName(isSecure), '', 0, isSecure);
}

/** Binds a login to this browser, and returns its `state`. */
export function beginLogin(context: HttpContext, { keys, isSecure }: CookieSettings, returnTo: string): string {
  const secret = randomBytes(32).toString('base64url');
  const text = JSON.stringify([secret, returnTo]);
  setCookie(context, loginName(isSecure), sealToken(keys, text, PURPOSE), LOGIN_SECONDS, isSecure);
  return stateOf(secret);
}

/** Ends the login of this browser. Returns the page to return to, or undefined if the `state` is of another login. */
export function endLogin(context: HttpContext, { keys, isSecure }: CookieSettings, state: string): string | undefined {
  const text = openToken(keys, readCookie(context, loginName(isSecure)) ?? '', PURPOSE);
  if (text === undefined) return undefined;
  setCookie(context, loginName(isSecure), '', 0, isSecure);
  const [secret, returnTo] = JSON.parse(text);
  const [given, expected] = [Buffer.from(state), Buffer.from(stateOf(secret))];
  return given.length === expected.length && timingSafeEqual(given, expected) ? returnTo : undefined;
}

function stateOf(secret: string): string {
  return hash('sha256', `console ${secret}`, 'base64url');
}

/** The prefix keeps other hosts from setting the cookie over https (RFC 6265bis, section 4.1.3.2). */
function sessionName(isSecure: boolean): string {
  return isSecure ? '__Host-usher-console' : 'usher-console';
}

function loginName(isSecure: boolean): string {
  return `${sessionName(isSecure)}-login`;
}
