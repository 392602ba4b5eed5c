/** The cookies of the console: session and last sign-in of the operator, and the logins that this browser has begun. */
import { openToken, sealToken } from '../../domain/crypto/aes-gcm.ts';
import { FRESH_MINUTES } from '../../domain/login/sign-in-age.ts';
import type { HttpContext } from '../../http/http-context.ts';
import { cookieName, readCookie, setCookie } from '../../login-page/browser/browser-cookie.ts';
import type { ConsoleKeys } from './keys.ts';
import { CONSOLE_MAX_AGE_SECONDS } from './statements/console-application.ts';

const SESSION = 'usher-console';
const SIGN_IN = 'usher-console-sign-in';
/** The maximum age of a sign-in for a sensitive route. */
export const FRESH_SECONDS = FRESH_MINUTES * 60;

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

/**
 * Remembers when the operator has signed in in this browser, while that is recent. Browsers share a session, whose last
 * sign-in may have been in another one.
 */
export function writeSignInCookie(
  context: HttpContext,
  { keys, isSecure }: CookieSettings,
  { userId, authenticatedAt }: { readonly userId: string; readonly authenticatedAt: Date },
): void {
  const text = JSON.stringify([userId, authenticatedAt.getTime()]);
  setCookie(context, cookieName(SIGN_IN, { isSecure }), sealToken(keys, text, SIGN_IN), FRESH_SECONDS, isSecure);
}

/** Returns whether the operator has signed in in this browser recently. */
export function hasSignedInHere(
  context: HttpContext,
  { keys, isSecure }: CookieSettings,
  { userId, now }: { readonly userId: string; readonly now: Date },
): boolean {
  const text = openToken(keys, readCookie(context, cookieName(SIGN_IN, { isSecure })) ?? '', SIGN_IN);
  if (text === undefined) return false;
  const [signedInUserId, authenticatedAt] = JSON.parse(text);
  return signedInUserId === userId && now.getTime() - authenticatedAt < FRESH_SECONDS * 1_000;
}
