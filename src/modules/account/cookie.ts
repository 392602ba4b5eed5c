/** The cookie of the account page: who signed in, when and how. Only Usher can read or write it. */

import { openToken, sealToken } from '../../domain/crypto/aes-gcm.ts';
import type { DerivedKeys } from '../../domain/crypto/derived-keys.ts';
import type { HttpContext } from '../../http/http-context.ts';
import { cookieName, type IdentifiedBrowser, readCookie, setCookie } from '../../login-page/browser/browser-cookie.ts';
import type { BrowserSignIn, OwnBrowser } from '../../login-page/offer/browser-sign-ins.ts';
import type { AccountSignIn } from './domain/find-account.ts';

const COOKIE = 'usher-account';
/** The cookie expires this long after the last request. */
const IDLE_SECONDS = 15 * 60;
/** The cookie expires this long after the page was opened by a sign-in at the latest. */
const LONGEST_MS = 24 * 60 * 60_000;

/** Returns undefined unless this browser has signed in, and has used the account page in the last 15 minutes. */
export function readAccountCookie(
  context: HttpContext,
  browser: IdentifiedBrowser,
  keys: DerivedKeys,
  now: Date,
): AccountSignIn | undefined {
  const text = openToken(keys, readCookie(context, cookieName(COOKIE, browser)) ?? '', aadOf(browser));
  if (text === undefined) return undefined;
  // Version 1.0.0 writes neither `openedAt` nor `isContinued`.
  const [userId, method, authenticatedAt, seenAt, loginIntentId, ...rest] = JSON.parse(text);
  const [openedAt = authenticatedAt, isContinued = true] = rest;
  const isLive = now.getTime() < Math.min(seenAt + IDLE_SECONDS * 1_000, openedAt + LONGEST_MS);
  if (!isLive) return undefined;
  return {
    userId,
    method,
    authenticatedAt: new Date(authenticatedAt),
    loginIntentId,
    openedAt: new Date(openedAt),
    isContinued,
  };
}

/** Signs the browser in for another 15 minutes. */
export function writeAccountCookie(
  context: HttpContext,
  browser: IdentifiedBrowser,
  keys: DerivedKeys,
  { userId, method, authenticatedAt, loginIntentId, openedAt, isContinued }: AccountSignIn,
  now: Date,
): void {
  const text = JSON.stringify([userId, method, +authenticatedAt, +now, loginIntentId, +openedAt, isContinued]);
  setCookie(
    context,
    cookieName(COOKIE, browser),
    sealToken(keys, text, aadOf(browser)),
    IDLE_SECONDS,
    browser.isSecure,
  );
}

export function removeAccountCookie(context: HttpContext, browser: IdentifiedBrowser): void {
  setCookie(context, cookieName(COOKIE, browser), '', 0, browser.isSecure);
}

/** How the account page keeps people signed in. */
export function createBrowserSignIn(keys: DerivedKeys): BrowserSignIn {
  const read = ({ context, browser, call }: OwnBrowser) => readAccountCookie(context, browser, keys, call.now)?.userId;
  return {
    findUserId: async (own) => read(own),
    async end(own, { userId, cutOff }) {
      const signedIn = read(own);
      if (userId !== undefined && userId !== signedIn) return;
      if (signedIn !== undefined) await cutOff?.(signedIn);
      removeAccountCookie(own.context, own.browser);
    },
  };
}

/** Returns the additional authenticated data, which bind the cookie to the browser. */
function aadOf({ digest }: IdentifiedBrowser): string {
  return `account ${digest.toString('hex')}`;
}
