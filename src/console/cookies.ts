/** The cookies of the console: the session of the operator, and the logins that this browser has begun. */
import { CONSOLE_MAX_AGE_SECONDS } from '../domain/operators/console-application.ts';
import type { HttpContext } from '../http/http-context.ts';
import { cookieName, readCookie, setCookie } from '../login-page/browser-cookie.ts';
import type { ConsoleKeys } from './keys.ts';

const SESSION = 'usher-console';

/** The cookie of the logins that this browser has begun. */
export const CONSOLE_LOGINS = { name: 'usher-console-login', purpose: 'console logins' } as const;

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
