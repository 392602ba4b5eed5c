/** Several logins in the tabs of one browser: each has its own address and its own code. */
import { afterAll, describe, expect, it } from 'vitest';
import { openAccount } from '../../support/account-page.ts';
import { MINUTE } from '../../support/clock.ts';
import { beginLogin, formOf, LoginBrowser, textOf } from '../../support/login-browser.ts';
import { LoginFixture } from '../../support/login-fixture.ts';
import { beginOidcLogin, createRsaJwk } from '../../support/oidc.ts';
import { adminClient, clientsOf, createTenant, createTestUser, type TestUser } from '../../support/service.ts';

const fixture = await LoginFixture.open({ oidcSigningKeys: [createRsaJwk()] });
const { clock, mailbox, service, tenant } = fixture;
afterAll(() => fixture.close());

const newAddress = () => `${crypto.randomUUID()}@example.com`;

/** Asks for a code in a tab of the browser. */
async function openTab(browser: LoginBrowser, user: TestUser) {
  const { login, page, code } = await fixture.askForCode({ browser, user });
  return { login, page, code, user, codePath: login.path.replace('/login', '/login/code') };
}

async function openTabs() {
  const browser = new LoginBrowser(service);
  const [first, second] = [await createTestUser(service), await createTestUser(service)];
  return { browser, first: await openTab(browser, first), second: await openTab(browser, second) };
}

async function userOf(location = ''): Promise<string | undefined> {
  const authToken = new URL(location).searchParams.get('authToken') ?? '';
  return (await clientsOf(service, tenant).auth.exchangeToken({ authToken })).user?.email;
}

describe('two tabs with a login each', () => {
  it('name their own address after a reload', async () => {
    const { browser, first, second } = await openTabs();
    for (const tab of [first, second, first]) {
      const { body } = await browser.open(tab.codePath);
      expect(textOf(body)).toContain(tab.user.email);
      expect(body).not.toContain((tab === first ? second : first).user.email);
    }
  });

  it('send their own code again, which still works', async () => {
    const { browser, first, second } = await openTabs();
    clock.advance(MINUTE);
    const again = await browser.submit(await browser.open(first.codePath), '/login/email/again');
    expect(mailbox.sentTo(first.user.email).map(({ code }) => code)).toEqual([first.code, first.code]);
    expect(mailbox.sentTo(second.user.email)).toHaveLength(1);
    const answered = await browser.submit(again, '/login/code', { code: first.code });
    expect(await userOf(answered.location)).toBe(first.user.email);
    const other = await browser.submit(await browser.open(second.codePath), '/login/code', { code: second.code });
    expect(await userOf(other.location)).toBe(second.user.email);
  });

  it('fill in their own address', async () => {
    const { browser, first, second } = await openTabs();
    const addressIn = async (path: string) => formOf(await browser.open(path), '/login/email').fields.email;
    expect(await addressIn(second.login.path)).toBe(second.user.email);
    expect(await addressIn(first.login.path)).not.toBe(second.user.email);
    expect(await addressIn((await beginLogin(service, tenant)).path)).toBe('');
  });

  it('fill in the address of their own login_hint', async () => {
    const relying = await createTenant(service, { openIdConnect: true });
    const browser = new LoginBrowser(service);
    const first = await beginOidcLogin(browser, relying, { login_hint: 'first@example.com' });
    const second = await beginOidcLogin(browser, relying, { login_hint: 'second@example.com' });
    const addressIn = async ({ path }: { path: string }) =>
      formOf(await browser.open(path), '/login/email').fields.email;
    expect(await addressIn(second)).toBe('second@example.com');
    expect(await addressIn(first)).not.toBe('second@example.com');
  });
});

describe('two tabs that change the address of an account', () => {
  it('name their own address after a reload, and each code changes to the address it was sent to', async () => {
    const user = await createTestUser(service);
    const { browser } = await openAccount(fixture, user);
    const ask = async (email: string) => {
      clock.advance(1);
      const page = await browser.submit(await browser.open('/account/email'), '/account/email', { email });
      expect(page.heading).toBe('Check your e-mail');
      const { fields } = formOf(page, '/account/email/code');
      return { email, page, path: `/account/email/code?${new URLSearchParams({ change: fields.change ?? '' })}` };
    };
    const [first, second] = [await ask(newAddress()), await ask(newAddress())];
    for (const tab of [first, second, first]) expect((await browser.open(tab.path)).body).toContain(tab.email);
    const wrong = await browser.submit(first.page, '/account/email/code', { code: mailbox.codeFor(second.email) });
    expect(wrong.alert).toContain('That is not the code we sent.');
    expect(wrong.body).toContain(first.email);
    await browser.submit(wrong, '/account/email/code', { code: mailbox.codeFor(first.email) });
    expect((await adminClient(service).getUser({ userId: user.id })).user?.email).toBe(first.email);
  });

  it('take no code that another person has asked for in the same browser', async () => {
    const [user, other] = [await createTestUser(service), await createTestUser(service)];
    const { browser } = await openAccount(fixture, user);
    const email = newAddress();
    const page = await browser.submit(await browser.open('/account/email'), '/account/email', { email });
    const token = formOf(page, '/account/email/code').fields.token ?? '';
    await browser.post('/account/logout', { token });
    await openAccount(fixture, other, browser);
    const refused = await browser.submit(page, '/account/email/code', { code: mailbox.codeFor(email) });
    expect(refused.alert).not.toBe('');
    expect(refused.body).not.toContain(email);
    expect((await adminClient(service).getUser({ userId: other.id })).user?.email).toBe(other.email);
  });
});
