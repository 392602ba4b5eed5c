/**
 * The cookie with the secrets of the logins that this browser has completed last. Only who has the secret of a login
 * gets its answer again, and may add passkeys. The cookie that identifies the browser is older than the sign-in, so
 * somebody may have copied it before, as on a shared computer.
 */

import { hash, randomBytes } from 'node:crypto';
import { INTENT_LIFETIME_MS } from '../domain/login/generate-auth-url.ts';
import type { HttpContext } from '../http/http-context.ts';
import { type Answers, cookieName, type KnownBrowser, readCookie, setCookie } from './browser-cookie.ts';

const COOKIE = 'usher-answer';
/** Longer than an auth token is valid: until a login that began before is over, it also shows who has signed in since. */
const SECONDS = INTENT_LIFETIME_MS / 1_000;
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
  setCookie(context, cookieName(COOKIE, browser), secrets.join('.'), SECONDS, browser.isSecure);
}

function readSecrets(context: HttpContext, browser: Pick<KnownBrowser, 'isSecure'>): readonly string[] {
  const secrets = (readCookie(context, cookieName(COOKIE, browser)) ?? '').split('.', MAX_LOGINS);
  return secrets.filter((secret) => /^[\w-]{43}$/.test(secret));
}

function digestOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
