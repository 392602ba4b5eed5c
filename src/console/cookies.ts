/** The cookies of the console: the session of the operator, and the logins that this browser has started. */
import { hash, randomBytes } from 'node:crypto';
import { openToken, sealToken } from '../domain/aes-gcm.ts';
import { CONSOLE_MAX_AGE_SECONDS } from '../domain/operators/console-application.ts';
import type { HttpContext } from '../http/http-context.ts';
import { cookieName, isSameText, readCookie, setCookie } from '../login-page/browser-cookie.ts';
import type { ConsoleKeys } from './keys.ts';

/** As long as a login intent can be completed. */
const LOGIN_SECONDS = 30 * 60;
const PURPOSE = 'console logins';
/** Concurrent logins in the tabs of a browser. More would not fit into a cookie. */
const MAX_LOGINS = 3;

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

/** The secret of each open login, with the page to return to. The latest is the first. */
type Logins = readonly (readonly [secret: string, returnTo: string])[];

/** Binds a login to this browser, and returns its `state`. */
export function beginLogin(context: HttpContext, settings: CookieSettings, returnTo: string): string {
  const secret = randomBytes(32).toString('base64url');
  const logins: Logins = [[secret, returnTo], ...readLogins(context, settings)];
  writeLogins(context, settings, logins.slice(0, MAX_LOGINS));
  return stateOf(secret);
}

/** Ends the login with the `state`. Returns the page to return to, or undefined if this browser did not start the login. */
export function endLogin(context: HttpContext, settings: CookieSettings, state: string): string | undefined {
  const logins = readLogins(context, settings);
  const ended = logins.find(([secret]) => isSameText(state, stateOf(secret)));
  if (!ended) return undefined;
  writeLogins(
    context,
    settings,
    logins.filter((login) => login !== ended),
  );
  return ended[1];
}

function readLogins(context: HttpContext, { keys, isSecure }: CookieSettings): Logins {
  const text = openToken(keys, readCookie(context, cookieName(LOGIN, { isSecure })) ?? '', PURPOSE);
  return text === undefined ? [] : JSON.parse(text);
}

function writeLogins(context: HttpContext, { keys, isSecure }: CookieSettings, logins: Logins): void {
  const [value, seconds] =
    logins.length > 0 ? [sealToken(keys, JSON.stringify(logins), PURPOSE), LOGIN_SECONDS] : ['', 0];
  setCookie(context, cookieName(LOGIN, { isSecure }), value, seconds, isSecure);
}

function stateOf(secret: string): string {
  return hash('sha256', `console ${secret}`, 'base64url');
}
