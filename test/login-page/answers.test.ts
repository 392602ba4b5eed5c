/** The answer to a login belongs to the browser that completed it, and not to an earlier copy of that browser's cookies. */
import { afterAll, describe, expect, it } from 'vitest';
import { MINUTE } from '../support/clock.ts';
import { beginLogin, formOf, LoginBrowser, type LoginPage } from '../support/login-browser.ts';
import { LoginFixture, type Ready } from '../support/login-fixture.ts';
import { beginOidcLogin, createRsaJwk } from '../support/oidc.ts';
import { adminClient, createTenant, createTestUser, REDIRECT_URI } from '../support/service.ts';
import { Wallet } from '../support/wallet.ts';

const USED = { status: 409, location: undefined };

const fixture = await LoginFixture.open({
  oidcSigningKeys: [createRsaJwk()],
  config: { loginMethods: ['wallet', 'email', 'passkey'] },
});
const { service } = fixture;
afterAll(() => fixture.close());

function copyOf({ cookie }: LoginBrowser): LoginBrowser {
  const copy = new LoginBrowser(service);
  copy.cookie = cookie;
  return copy;
}

const answerOf = ({ status, location }: LoginPage) => ({ status, location });

async function complete(ready: Ready): Promise<string> {
  const { status, location = '' } = await ready.submit();
  expect(status).toBe(303);
  return location;
}

const methods: [name: string, prepare: () => Promise<Ready>][] = [
  ['code', () => fixture.readyByEmail()],
  ['wallet', () => fixture.readyByWallet()],
];

describe.each(methods)('a copy of the cookies from before a sign-in by %s', (_name, prepare) => {
  it('gets no answer from any page or form', async () => {
    const ready = await prepare();
    const { browser, login, page } = ready;
    const thief = copyOf(browser);
    const location = await complete(ready);
    expect(location).toContain(`${REDIRECT_URI}?authToken=`);
    for (const path of [login.path, login.path.replace('/login', '/login/code')]) {
      expect(answerOf(await thief.open(path))).toEqual(USED);
      expect(answerOf(await browser.open(path))).toEqual({ status: 303, location });
    }
    const { fields } = formOf(page, '/login/email');
    const typed = {
      ...fields,
      email: ready.user.email,
      code: '000000',
      signature: `0x${'1'.repeat(130)}`,
      name: 'Eve',
    };
    for (const action of ['email', 'email/again', 'code', 'wallet', 'name', 'continue', 'forget', 'cancel']) {
      expect.soft(answerOf(await thief.post(`/login/${action}`, typed)), action).toEqual(USED);
    }
  });

  it('sees no passkeys, and adds none', async () => {
    const ready = await prepare();
    const { browser, login, page } = ready;
    const thief = copyOf(browser);
    await complete(ready);
    const list = login.path.replace('/login', '/login/passkeys');
    expect(await browser.open(list)).toMatchObject({ status: 200, heading: 'Your passkeys' });
    expect(answerOf(await thief.open(list))).toEqual(USED);
    const { token = '' } = formOf(page, '/login/email').fields;
    const fields = { token, intent: login.loginIntentId, credential: '{}' };
    expect(answerOf(await thief.post('/login/passkey/new', fields))).toEqual(USED);
  });

  it('gets the answer by sending the very same form, whose reply may have been lost', async () => {
    const ready = await prepare();
    const before = ready.browser.cookie;
    const location = await complete(ready);
    ready.browser.cookie = before;
    expect(await complete(ready)).toBe(location);
    expect(answerOf(await ready.browser.open(ready.login.path))).toEqual({ status: 303, location });
  });
});

it('the secret alone is worth nothing: a sign-out ends the answers of its browser', async () => {
  const ready = await fixture.readyByEmail();
  await complete(ready);
  const [secret] = (ready.browser.cookie ?? '').split('; ').filter((pair) => pair.includes('usher-answer'));
  const thief = new LoginBrowser(service);
  await thief.open('/account');
  thief.cookie = `${thief.cookie}; ${secret}`;
  expect(answerOf(await thief.open(ready.login.path))).toEqual(USED);
  expect(answerOf(await thief.open(ready.login.path.replace('/login', '/login/passkeys')))).toEqual(USED);
});

it('a copy of the cookies cannot have its own wallet linked by the code that the person enters', async () => {
  const of = await createTenant(service);
  await adminClient(service).updateApplication({ applicationId: of.id, allowSignUp: true });
  const user = await createTestUser(service, { walletAddress: '' });
  const asked = await fixture.askForCode({ of, user });
  const { browser, login, page } = asked;
  const thief = copyOf(browser);
  const wallet = new Wallet();
  const signature = wallet.sign(await fixture.challenge({ browser: thief, page }, wallet.address));
  const linking = await thief.submit(page, '/login/wallet', { signature });
  fixture.clock.advance(MINUTE);
  await thief.submit(linking, '/login/link', { email: user.email });
  const code = fixture.mailbox.codeFor(user.email);
  const answered = await asked.enter(code);
  expect(answered.location).toContain(`${REDIRECT_URI}?authToken=`);
  expect(await fixture.isCompleted(login.loginIntentId)).toBe(true);
  expect((await adminClient(service).getUser({ userId: user.id })).user?.walletAddress).toBe('');
});

it('a copy of the cookies gets no code of OpenID Connect', async () => {
  const tenant = await createTenant(service, { openIdConnect: true });
  const user = await createTestUser(service);
  const browser = new LoginBrowser(service);
  const { path } = await beginOidcLogin(browser, tenant);
  const choice = await browser.open(path);
  const codePage = await browser.submit(choice, '/login/email', { email: user.email });
  const thief = copyOf(browser);
  const code = fixture.mailbox.codeFor(user.email);
  const answered = await browser.submit(codePage, '/login/code', { code });
  expect(answered.location).toContain(`${REDIRECT_URI}?code=`);
  expect(answerOf(await thief.open(path))).toEqual(USED);
  expect(answerOf(await browser.open(path))).toEqual(answerOf(answered));
});

it('a browser gets the answers to its last logins again', async () => {
  const user = await createTestUser(service);
  const browser = new LoginBrowser(service);
  const logins: { path: string; location: string }[] = [];
  for (let count = 1; count <= 3; count++) {
    const login = await beginLogin(service, fixture.tenant);
    const location = await complete(await readyFor(user, browser, login));
    logins.push({ path: login.path, location });
  }
  for (const { path, location } of logins) {
    expect(answerOf(await browser.open(path))).toEqual({ status: 303, location });
  }
});

async function readyFor(
  user: Awaited<ReturnType<typeof createTestUser>>,
  browser: LoginBrowser,
  login: Awaited<ReturnType<typeof beginLogin>>,
): Promise<Ready> {
  const asked = await fixture.askForCode({ user, browser, login });
  return { ...asked, submit: (at) => asked.enter(asked.code, at) };
}
