/** How long a browser stays signed in to the account page, and whom it signs out. */
import { randomBytes, randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { deriveKeys } from '../../../src/domain/crypto/derived-keys.ts';
import type { HttpContext } from '../../../src/http/http-context.ts';
import type { IdentifiedBrowser } from '../../../src/login-page/browser/browser-cookie.ts';
import { createBrowserSignIn, readAccountCookie, writeAccountCookie } from '../../../src/modules/account/cookie.ts';
import { HOUR, MINUTE } from '../../support/clock.ts';
import { newBrowser } from '../../support/new-browser.ts';

const NOW = new Date('2030-01-02T03:04:05.678Z');
const after = (ms: number) => new Date(NOW.getTime() + ms);
const keys = deriveKeys([randomBytes(32)], 'test');
const browser = { ...newBrowser(), isSecure: true } as unknown as IdentifiedBrowser;
const signIn = {
  ...{ userId: randomUUID(), method: 'email', loginIntentId: randomUUID(), authenticatedAt: after(-MINUTE) },
  ...{ openedAt: NOW, isContinued: false },
} as const;

/** A request of a browser that keeps one cookie. */
function createContext() {
  const headers = { cookie: '' };
  const appendHeader = (_: string, value: string) => {
    headers.cookie = value.split(';')[0] ?? '';
  };
  const context = { request: { headers }, response: { appendHeader } } as unknown as HttpContext;
  return { context, headers };
}

test.each<[string, opened: number, ms: number, given: { browser?: object; keys?: typeof keys }, isSignedIn: boolean]>([
  ['after a look at the page', 0, 0, {}, true],
  ['for 15 minutes', 0, 15 * MINUTE - 1, {}, true],
  ['no longer', 0, 15 * MINUTE, {}, false],
  ['for 24 hours of looking', 1 - 24 * HOUR, 0, {}, true],
  ['no longer than that', -24 * HOUR, 0, {}, false],
  ['in no other browser', 0, 0, { browser: { digest: randomBytes(32) } }, false],
  ['by no other key', 0, 0, { keys: deriveKeys([randomBytes(32)], 'test') }, false],
])('a browser is signed in %s', (_, opened, ms, given, isSignedIn) => {
  const { context } = createContext();
  const kept = { ...signIn, openedAt: after(opened) };
  writeAccountCookie(context, browser, keys, kept, NOW);
  const read = readAccountCookie(context, { ...browser, ...given.browser }, given.keys ?? keys, after(ms));
  expect(read).toEqual(isSignedIn ? kept : undefined);
});

test.each<[string, isSignedIn: boolean, userId: string | undefined, ended: readonly string[], isLeft: boolean]>([
  ['whoever is signed in', true, undefined, [signIn.userId], false],
  ['the user who is named', true, signIn.userId, [signIn.userId], false],
  ['no other user', true, randomUUID(), [], true],
  ['nobody where nobody is signed in', false, undefined, [], false],
])('a sign-out ends the sign-in of %s', async (_, isSignedIn, userId, ended, isLeft) => {
  const { context, headers } = createContext();
  if (isSignedIn) writeAccountCookie(context, browser, keys, signIn, NOW);
  else headers.cookie = '__Host-usher-account=x';
  const own = { context, browser, call: { now: NOW } } as unknown as Parameters<
    ReturnType<typeof createBrowserSignIn>['end']
  >[0];
  const calls: string[] = [];
  const cutOff = async (id: string) => void calls.push(id);
  await createBrowserSignIn(keys).end(own, { cutOff, ...(userId && { userId }) });
  expect([calls, /=./.test(headers.cookie)]).toEqual([ended, isLeft]);
});
