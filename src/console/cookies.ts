/** The cookies of the console: the session of the operator, and the login that this browser has begun. */
import { hash, randomBytes } from 'node:crypto';
import { openToken, sealToken } from '../domain/aes-gcm.ts';
import { CONSOLE_MAX_AGE_SECONDS } from '../domain/operators/console-application.ts';
import type { HttpContext } from '../http/http-context.ts';
import { cookieName, isSameText, readCookie, setCookie } from '../login-page/browser-cookie.ts';
import type { ConsoleKeys } from './keys.ts';

/** As long as a login may take. */
const LOGIN_SECONDS = 30 * 60;
const PURPOSE = 'console login';

const SESSION = 'usher-console';
const LOGIN = 'usher-console-login';

export interface CookieSettings {
  readonly keys: ConsoleKeys;
  /** Whether the URL of the console is https. */
  readonly isSecure: boolean;
}

export function readSessionCookie(context: HttpContext, { isSecure }: CookieSettings): string | undefined {
  return readCookie(context, cookieName(SESSION, { isSecure }));
}

export function writeSessionCookie(context: HttpContext, { isSecure }: CookieSettings, sessionId: string): void {
  setCookie(context, cookieName(SESSION, { isSecure }), sessionId, CONSOLE_MAX_AGE_SECONDS, isSecure);
}

export function removeSessionCookie(context: HttpContext, { isSecure }: CookieSettings): void {
  setCookie(context, cookieName(SESSION, { isSecure }), '', 0, isSecure);
}

/** Binds a login to this browser, and returns its `state`. */
export function beginLogin(context: HttpContext, { keys, isSecure }: CookieSettings, returnTo: string): string {
  const secret = randomBytes(32).toString('base64url');
  const text = JSON.stringify([secret, returnTo]);
  setCookie(context, cookieName(LOGIN, { isSecure }), sealToken(keys, text, PURPOSE), LOGIN_SECONDS, isSecure);
  return stateOf(secret);
}

/** Ends the login of this browser. Returns the page to return to, or undefined if the `state` is of another login. */
export function endLogin(context: HttpContext, { keys, isSecure }: CookieSettings, state: string): string | undefined {
  const text = openToken(keys, readCookie(context, cookieName(LOGIN, { isSecure })) ?? '', PURPOSE);
  if (text === undefined) return undefined;
  setCookie(context, cookieName(LOGIN, { isSecure }), '', 0, isSecure);
  const [secret, returnTo] = JSON.parse(text);
  return isSameText(state, stateOf(secret)) ? returnTo : undefined;
}

function stateOf(secret: string): string {
  return hash('sha256', `console ${secret}`, 'base64url');
}
