/** The logins that a browser has pending at one of Usher's own applications, in a cookie that only Usher can read. */

import { hash, randomBytes } from 'node:crypto';
import { openToken, sealToken } from '../../domain/crypto/aes-gcm.ts';
import type { DerivedKeys } from '../../domain/crypto/derived-keys.ts';
import { INTENT_LIFETIME_MS } from '../../domain/login/generate-auth-url.ts';
import type { HttpContext } from '../../http/http-context.ts';
import { cookieName, isSameText, readCookie, setCookie } from './browser-cookie.ts';

/** As long as a login intent can be completed. */
const LOGIN_SECONDS = INTENT_LIFETIME_MS / 1_000;
/** Concurrent logins in the tabs of a browser. More would not fit into a cookie. */
const MAX_LOGINS = 3;

export interface PendingLoginsCookie {
  readonly keys: DerivedKeys;
  readonly isSecure: boolean;
  readonly name: `usher-${string}`;
  /** Binds the cookie to its use. */
  readonly purpose: string;
}

/** The secret of each open login, with the page to return to. The latest is the first. */
type Logins = readonly (readonly [secret: string, returnTo: string])[];

/** Binds a login to this browser, and returns its `state`, which no other login has. */
export function beginLogin(context: HttpContext, cookie: PendingLoginsCookie, returnTo: string): string {
  const secret = randomBytes(32).toString('base64url');
  const logins: Logins = [[secret, returnTo], ...readLogins(context, cookie)];
  writeLogins(context, cookie, logins.slice(0, MAX_LOGINS));
  return stateOf(cookie, secret);
}

/** Ends the login with the `state`. Returns the page to return to, or undefined if this browser did not start the login. */
export function endLogin(context: HttpContext, cookie: PendingLoginsCookie, state: string): string | undefined {
  const logins = readLogins(context, cookie);
  const ended = logins.find(([secret]) => isSameText(state, stateOf(cookie, secret)));
  if (!ended) return undefined;
  writeLogins(
    context,
    cookie,
    logins.filter((login) => login !== ended),
  );
  return ended[1];
}

function readLogins(context: HttpContext, { keys, name, purpose, ...settings }: PendingLoginsCookie): Logins {
  const text = openToken(keys, readCookie(context, cookieName(name, settings)) ?? '', purpose);
  return text === undefined ? [] : JSON.parse(text);
}

function writeLogins(
  context: HttpContext,
  { keys, isSecure, name, purpose }: PendingLoginsCookie,
  logins: Logins,
): void {
  const [value, seconds] =
    logins.length > 0 ? [sealToken(keys, JSON.stringify(logins), purpose), LOGIN_SECONDS] : ['', 0];
  setCookie(context, cookieName(name, { isSecure }), value, seconds, isSecure);
}

function stateOf({ purpose }: PendingLoginsCookie, secret: string): string {
  return hash('sha256', `${purpose} ${secret}`, 'base64url');
}
