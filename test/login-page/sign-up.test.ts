/** Whoever proves an e-mail address, or a wallet and an e-mail address, becomes a user. */
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { MINUTE, SECOND } from '../support/clock.ts';
import { formOf, LoginBrowser, type LoginPage } from '../support/login-browser.ts';
import { type Arrival, type Arrived, LoginFixture } from '../support/login-fixture.ts';
import { wrongCode } from '../support/mail-server.ts';
import { adminClient, clientsOf, createTenant, createTestUser, type Tenant } from '../support/service.ts';
import { Wallet } from '../support/wallet.ts';

const fixture = await LoginFixture.open();
const admin = adminClient(fixture.service);
/** Applications that let users sign up, without and with a name. */
const open = await createTenant(fixture.service);
const asking = await createTenant(fixture.service);
await admin.updateApplication({ applicationId: open.id, allowSignUp: true });
await admin.updateApplication({ applicationId: asking.id, allowSignUp: true, askName: true });
afterAll(() => fixture.close());

const newEmail = () => `${randomUUID()}@example.com`;

/** Asks for a code at the page of an application. */
async function ask(email: string, { of = open, ...by }: Partial<Arrived> & { of?: Tenant } = {}) {
  const arrived = { ...(await fixture.arrive({ of, ...by })), ...by };
  const { browser } = arrived;
  const action = arrived.page.forms.some((form) => form.action === '/login/link') ? '/login/link' : '/login/email';
  const codePage = await browser.submit(arrived.page, action, { email });
  expect(codePage).toMatchObject({ heading: 'Check your e-mail', alert: '' });
  const enter = (code = fixture.mailbox.codeFor(email)) => browser.submit(codePage, '/login/code', { code });
  return { ...arrived, codePage, enter };
}

/** Returns the profile that the application gets. */
async function profileOf({ location = '' }: LoginPage, tenant = open) {
  const authToken = new URL(location).searchParams.get('authToken') ?? '';
  return (await clientsOf(fixture.service, tenant).auth.exchangeToken({ authToken })).user;
}

const usersWith = (email: string) =>
  fixture.service.database.sql`select id, name, wallet_address from users where email = ${email}`;

/** Proves a wallet and returns the page that follows. */
async function proveWallet(wallet: Wallet, of = open) {
  const asked = await fixture.askForMessage(wallet.address, { of });
  return { ...asked, page: await asked.send(wallet.sign(asked.message)) };
}

describe('a person without an account', () => {
  it('becomes a user with the code from the e-mail, and is the same user the next time', async () => {
    const email = newEmail();
    const first = await ask(email);
    expect((await first.enter(wrongCode(fixture.mailbox.codeFor(email)))).alert).toMatch(/^That is not the code/);
    expect(await usersWith(email)).toEqual([]);
    const reply = await first.enter();
    expect(await profileOf(reply)).toMatchObject({ email, walletAddress: '' });
    const [user] = await usersWith(email);
    expect(user).toMatchObject({ name: null, wallet_address: '' });
    const again = await (await ask(email.toUpperCase(), { browser: first.browser })).enter(
      fixture.mailbox.codeFor(email),
    );
    expect((await profileOf(again))?.email).toBe(email);
    expect(await usersWith(email)).toEqual([user]);
  });

  it('sees the same pages as a user', async () => {
    const textOf = ({ body }: LoginPage) =>
      body.slice(body.indexOf('<h1>')).replaceAll(/value="[^"]*"|nonce="[^"]*"/g, '');
    const seen = async (email: string) => {
      const { codePage, enter } = await ask(email);
      return [codePage, await enter('000000')].map((page) => textOf(page).replaceAll(email, 'EMAIL'));
    };
    const { email } = await createTestUser(fixture.service);
    expect(await seen(newEmail())).toEqual(await seen(email));
  });

  it('becomes one user, however often and wherever the code is sent at the same time', async () => {
    const email = newEmail();
    const { enter } = await ask(email);
    const replies = await Promise.all(Array.from({ length: 6 }, () => enter()));
    expect(new Set(replies.map(({ location }) => location)).size).toBe(1);
    const other = newEmail();
    const asked = [];
    for (let count = 0; count < 5; count++) asked.push(await ask(other));
    const codes = fixture.mailbox.sentTo(other).map(({ code }) => code);
    const all = await Promise.all(asked.map(({ enter }, index) => enter(codes[index])));
    expect(all.map(({ status }) => status)).toEqual(all.map(() => 303));
    expect([await usersWith(email), await usersWith(other)].map((rows) => rows.length)).toEqual([1, 1]);
  });

  it.each<[string, (email: string) => Promise<unknown>]>([
    ['is no longer open', async () => fixture.clock.advance(30 * MINUTE)],
    [
      'is of an application that has stopped sign-up',
      () => admin.updateApplication({ applicationId: open.id, allowSignUp: false }),
    ],
  ])('does not become a user if the login %s', async (_why, stop) => {
    const email = newEmail();
    const { enter } = await ask(email);
    await stop(email);
    expect((await enter()).location).toBeUndefined();
    expect(await usersWith(email)).toEqual([]);
    await admin.updateApplication({ applicationId: open.id, allowSignUp: true });
  });

  it.each([
    ['an application', open],
    ['one that asks for a name', asking],
  ])('is told by %s that the account is closed if a deactivated user has the address', async (_, of) => {
    const { id: userId, email } = await createTestUser(fixture.service);
    await admin.deactivateUser({ userId });
    const supportUri = 'https://shop.test/help';
    await admin.updateApplication({ applicationId: of.id, supportUri });
    const { browser, enter } = await ask(email, { of });
    expect((await enter(wrongCode(fixture.mailbox.codeFor(email)))).alert).toMatch(/^That is not the code/);
    const closed = await enter();
    expect(closed).toMatchObject({ heading: 'This account is closed', alert: '', location: undefined });
    expect(/<main.*<\/main>/s.exec(closed.body)?.[0]).toContain(`href="${supportUri}"`);
    expect(await usersWith(email)).toHaveLength(1);
    const choice = await browser.submit(closed, '/login');
    const other = newEmail();
    await browser.submit(choice, '/login/email', { email: other });
    expect(fixture.mailbox.sentTo(other)).toHaveLength(1);
  });
});

describe('an application that asks for a name', () => {
  it('gets it from a new user, after the code', async () => {
    const email = newEmail();
    const { browser, enter } = await ask(email, { of: asking });
    const namePage = await enter();
    expect(namePage).toMatchObject({ status: 200, heading: 'Welcome', alert: '' });
    expect(await usersWith(email)).toEqual([]);
    const refused = await browser.submit(namePage, '/login/name', { name: ' ' });
    expect(refused).toMatchObject({ heading: 'Welcome', alert: 'Please enter your name.' });
    const reply = await browser.submit(refused, '/login/name', { name: ' Ada Lovelace ' });
    expect(await profileOf(reply, asking)).toMatchObject({ email, name: 'Ada Lovelace' });
    expect((await browser.submit(namePage, '/login/name', { name: 'Eve' })).location).toBe(reply.location);
  });

  it('does not ask a user', async () => {
    const { email } = await createTestUser(fixture.service);
    expect((await (await ask(email, { of: asking })).enter()).status).toBe(303);
  });

  it('gets no user without the right code, or in another browser', async () => {
    const email = newEmail();
    const { browser, codePage, enter, login } = await ask(email, { of: asking });
    const fields = { ...formOf(codePage, '/login/code').fields, name: 'Eve' };
    expect(await browser.post('/login/name', fields)).toMatchObject({ alert: expect.stringMatching(/not valid/) });
    expect((await enter()).heading).toBe('Welcome');
    const thief = new LoginBrowser(fixture.service);
    const { fields: own } = formOf(await thief.open(login.path), '/login/email');
    expect((await thief.post('/login/name', { ...own, name: 'Eve' })).location).toBeUndefined();
    expect(await usersWith(email)).toEqual([]);
  });
});

describe('a wallet that nobody has', () => {
  it('becomes that of a new user after the code for an e-mail address, and then signs in alone', async () => {
    const [wallet, email] = [new Wallet(), newEmail()];
    const proved = await proveWallet(wallet);
    expect(proved.page).toMatchObject({ status: 200, heading: 'Your wallet is new here', alert: '' });
    const asked = await ask(email, proved);
    await asked.enter(wrongCode(fixture.mailbox.codeFor(email)));
    fixture.clock.advance(30 * SECOND);
    await asked.browser.submit(asked.codePage, '/login/email/again');
    expect(fixture.mailbox.sentTo(email)).toHaveLength(2);
    expect(await profileOf(await asked.enter())).toMatchObject({ email, walletAddress: wallet.address });
    expect((await profileOf((await proveWallet(wallet)).page))?.email).toBe(email);
    // Who creates an account needs no notice of it. That of the second sign-in, in a new browser, comes at any time.
    const kinds = fixture.mailbox.mails.filter(({ to }) => to === email).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind !== 'sign-in notice')).toEqual(Array(2).fill('login code'));
  });

  it('becomes that of the user with the e-mail address, in place of another', async () => {
    const [wallet, former] = [new Wallet(), new Wallet()];
    const user = await createTestUser(fixture.service, { walletAddress: former.address });
    const asked = await ask(user.email, await proveWallet(wallet));
    expect(await profileOf(await asked.enter())).toMatchObject({ email: user.email, walletAddress: wallet.address });
    const notices = () =>
      fixture.mailbox.mails
        .filter(({ to, kind }) => to === user.email && kind === 'wallet notice')
        .flatMap(({ paragraphs }) => paragraphs.map(([key, values]) => [key, values?.address]))
        .sort();
    const expected = [
      ['mail.walletLinked.text', wallet.address],
      ['mail.walletRemoved.text', former.address],
    ];
    await expect.poll(notices).toEqual(expected);
    // A double click links it once.
    expect((await asked.enter()).status).toBe(303);
    expect(notices()).toEqual(expected);
    expect(await fixture.service.database.sql`select from notices`).toHaveLength(0);
  });

  it('is not linked to a user who then signs in another way', async () => {
    const email = newEmail();
    const { browser, login, page } = await proveWallet(new Wallet());
    const asked = await ask(email, { browser, login, page: await browser.submit(page, '/login') });
    expect((await asked.enter()).status).toBe(303);
    expect(await usersWith(email)).toMatchObject([{ wallet_address: '' }]);
  });

  it('is not linked to a user who has another e-mail address by then', async () => {
    const [wallet, user] = [new Wallet(), await createTestUser(fixture.service)];
    const asked = await ask(user.email, await proveWallet(wallet));
    const email = newEmail();
    await admin.updateUser({ userId: user.id, email });
    expect(await asked.enter()).toMatchObject({ alert: expect.stringMatching(/^This code is not valid any more/) });
    expect(await usersWith(email)).toMatchObject([{ wallet_address: user.walletAddress }]);
  });

  it.each<[string, (wallet: Wallet, message: string) => string | undefined]>([
    ['nothing', () => undefined],
    ['another text', (wallet) => wallet.sign('another text')],
    ['the message with another wallet', (_, message) => new Wallet().sign(message)],
  ])('is not linked to a user, or a new one, if it has signed %s', async (_what, sign) => {
    for (const email of [newEmail(), (await createTestUser(fixture.service)).email]) {
      const [wallet, before] = [new Wallet(), await usersWith(email)];
      const { browser, login, message, send } = await fixture.askForMessage(wallet.address, { of: open });
      const signature = sign(wallet, message);
      if (signature) await send(signature);
      const page = await browser.open(`/login/link?${new URLSearchParams({ intent: login.loginIntentId })}`);
      const asked = await ask(email, { browser, login, page });
      expect((await asked.enter()).status).toBe(303);
      const [user] = await usersWith(email);
      expect(user?.wallet_address).toBe(before[0]?.wallet_address ?? '');
    }
  });

  it.each<[string, (proved: Awaited<ReturnType<typeof proveWallet>>) => Arrival]>([
    ['in another browser', ({ login }) => ({ login })],
    ['at another login', ({ browser }) => ({ browser })],
  ])('is not linked to a user who fills in the form that links it %s', async (_where, next) => {
    const [wallet, email] = [new Wallet(), newEmail()];
    const { browser, login } = await fixture.arrive({ of: open, ...next(await proveWallet(wallet)) });
    const page = await browser.open(`/login/link?${new URLSearchParams({ intent: login.loginIntentId })}`);
    expect((await (await ask(email, { browser, login, page })).enter()).status).toBe(303);
    expect(await usersWith(email)).toMatchObject([{ wallet_address: '' }]);
  });

  it('is refused if somebody else has got it in the meantime', async () => {
    for (const email of [newEmail(), (await createTestUser(fixture.service)).email]) {
      const wallet = new Wallet();
      const asked = await ask(email, await proveWallet(wallet));
      await createTestUser(fixture.service, { walletAddress: wallet.checksumAddress });
      expect(await asked.enter()).toMatchObject({ alert: 'Another account has this wallet.', location: undefined });
    }
  });
});
