/** Completed logins: a form that a browser sends again, a page that it opens again, and other browsers. */
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { MINUTE } from '../support/clock.ts';
import { holdLock, waitForLockWaiters } from '../support/lock.ts';
import { beginLogin, formOf, LoginBrowser, type LoginPage } from '../support/login-browser.ts';
import { LoginFixture, type Ready } from '../support/login-fixture.ts';
import { adminClient, clientsOf, REDIRECT_URI } from '../support/service.ts';

const USED = { status: 409, location: undefined };

const fixture = await LoginFixture.open();
const { clock, service } = fixture;
afterAll(() => fixture.close());

const answerOf = ({ status, location }: LoginPage) => ({ status, location });
const authTokenOf = (location: string) => new URL(location).searchParams.get('authToken') ?? '';

/** Signs in and returns the redirect. */
async function complete(ready: Ready): Promise<string> {
  const { status, location = '' } = await ready.submit();
  expect(status).toBe(303);
  expect(location.startsWith(`${REDIRECT_URI}?authToken=`)).toBe(true);
  return location;
}

const methods: [name: string, prepare: () => Promise<Ready>][] = [
  ['by e-mail', () => fixture.readyByEmail()],
  ['by e-mail, at the last try', () => fixture.readyByEmail({}, 4)],
  ['by wallet', () => fixture.readyByWallet()],
];

describe.each(methods)('the browser that signed in %s', (_name, prepare) => {
  it('gets the same redirect for the same form, as often as it is sent', async () => {
    const ready = await prepare();
    const replies = await Promise.all(Array.from({ length: 6 }, () => ready.submit()));
    const location = await complete(ready);
    expect(replies.map(answerOf)).toEqual(replies.map(() => ({ status: 303, location })));
    clock.advance(MINUTE);
    expect(await complete(ready)).toBe(location);
    const { auth } = clientsOf(service, fixture.tenant);
    const first = await auth.exchangeToken({ authToken: authTokenOf(location) });
    expect(first.user?.email).toBe(ready.user.email);
    expect(await auth.exchangeToken({ authToken: authTokenOf(location) })).toEqual(first);
  });

  it('gets the same redirect from another replica while the first reply is pending', async () => {
    await using replica = await fixture.startReplica();
    const ready = await prepare();
    const lockIntent = `select from login_intents where id = '${ready.login.loginIntentId}' for update`;
    await using lock = await holdLock(service.database, lockIntent);
    const first = ready.submit(service);
    await waitForLockWaiters(service.database, 1);
    const second = ready.submit(replica);
    await waitForLockWaiters(service.database, 2);
    await lock.release();
    expect((await first).status).toBe(303);
    expect(answerOf(await second)).toEqual(answerOf(await first));
  });

  it('gets the same redirect from the page and its other forms until the token expires', async () => {
    const ready = await prepare();
    const { browser, login } = ready;
    const other = await browser.open((await beginLogin(service, fixture.tenant)).path);
    const { token = '' } = formOf(other, '/login/cancel').fields;
    const location = await complete(ready);
    const fields = { token, intent: login.loginIntentId, email: 'ada@example.com', code: '000000', signature: '0x' };
    for (const action of ['/login/email', '/login/code', '/login/wallet', '/login/cancel']) {
      expect(answerOf(await browser.post(action, fields))).toEqual({ status: 303, location });
    }
    expect(fixture.mailbox.sentTo('ada@example.com')).toEqual([]);
    // The lifetime of a token counts in whole seconds.
    clock.advance(15 * MINUTE - 1_000);
    expect(answerOf(await browser.open(login.path))).toEqual({ status: 303, location });
    clock.advance(1_000);
    expect(answerOf(await browser.open(login.path))).toEqual(USED);
    expect(answerOf(await ready.submit())).toEqual(USED);
  });
});

it.each(methods)(
  'after a browser has signed in %s, any other browser gets 409 from the page and its forms',
  async (_name, prepare) => {
    const ready = await prepare();
    const { path } = ready.login;
    const thief = new LoginBrowser(service);
    const page = await thief.open(path);
    await complete(ready);
    expect(await thief.open(path)).toMatchObject({ ...USED, heading: 'This sign-in has been used' });
    const { fields } = formOf(page, '/login/email');
    const typed = { ...fields, email: ready.user.email, code: '000000', signature: `0x${'1'.repeat(130)}` };
    for (const action of ['/login/email', '/login/code', '/login/wallet', '/login/cancel']) {
      expect(answerOf(await thief.post(action, typed))).toEqual(USED);
    }
    for (const cookie of [undefined, `__Host-usher=${'A'.repeat(43)}`, '__Host-usher=']) {
      const stranger = new LoginBrowser(service);
      stranger.cookie = cookie;
      expect(answerOf(await stranger.open(path))).toEqual(USED);
    }
    clock.advance(30 * MINUTE);
    expect(answerOf(await thief.open(path))).toEqual(USED);
  },
);

it('after CompleteLogin, every browser gets 409, that on the page too', async () => {
  const ready = await fixture.readyByEmail();
  const fields = { loginIntentId: ready.login.loginIntentId, userId: ready.user.id };
  expect((await adminClient(service).completeLogin(fields)).redirectUrl).toContain('authToken=');
  expect(answerOf(await ready.browser.open(ready.login.path))).toEqual(USED);
  expect(answerOf(await ready.submit())).toEqual(USED);
  expect(answerOf(await new LoginBrowser(service).open(ready.login.path))).toEqual(USED);
});

it('with ES256, whose signatures differ each time, the browser gets a token of the same claims', async () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const authSigningKeys = [{ ...privateKey.export({ format: 'jwk' }), alg: 'ES256', kid: 'ec' }];
  await using other = await fixture.startReplica({ secrets: { ...service.config.secrets, authSigningKeys } });
  const ready = await fixture.readyByEmail({ at: other });
  const first = await complete(ready);
  clock.advance(MINUTE);
  const again = await complete(ready);
  const withoutSignature = (url: string) => url.replace(/(authToken=[\w-]+\.[\w-]+)\.[\w-]+/, '$1');
  expect(withoutSignature(again)).toBe(withoutSignature(first));
  const answer = await clientsOf(other, fixture.tenant).auth.exchangeToken({ authToken: authTokenOf(again) });
  expect(answer.user?.email).toBe(ready.user.email);
});
