/** Adding a wallet on the account page, with a signature. */
import { afterAll, describe, expect, it } from 'vitest';
import { follow, openAccount, tokenOf } from '../../../support/account-page.ts';
import { MINUTE } from '../../../support/clock.ts';
import { formOf, LoginBrowser, type LoginPage } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { RecordedLog } from '../../../support/recorded-log.ts';
import { adminClient, createTestUser, type TestUser } from '../../../support/service.ts';
import { Wallet } from '../../../support/wallet.ts';

const log = new RecordedLog('error');
const fixture = await LoginFixture.open({ logger: log.logger });
const { clock, mailbox, service, tenant } = fixture;
const admin = adminClient(service);
afterAll(() => fixture.close());

const TITLE = 'Add a wallet';
const STALE = 'To change anything here, sign in again first.';

const walletOf = async ({ id: userId }: TestUser) => (await admin.getUser({ userId })).user?.walletAddress;
const noticeTo = (email: string) => mailbox.mails.find(({ kind, to }) => kind === 'wallet notice' && to === email);

/** Opens the page for a new wallet, as a user without one. */
async function openForm(browser?: LoginBrowser) {
  const user = await createTestUser(service, { walletAddress: '' });
  const account = await openAccount(fixture, user, browser);
  const page = await account.browser.open('/account/wallet/new');
  return { user, browser: account.browser, page, wallet: new Wallet() };
}

/** Asks for the message as the script does. */
async function ask(browser: LoginBrowser, page: LoginPage, address: string) {
  const { fields } = formOf(page, '/account/wallet/new');
  const { status, body } = await browser.post('/account/wallet/challenge', { ...fields, address });
  return { status, ...(JSON.parse(body) as { message?: string; error?: string }) };
}

async function sign({ browser, page, wallet }: Awaited<ReturnType<typeof openForm>>) {
  const { message = '' } = await ask(browser, page, wallet.checksumAddress);
  clock.advance(1);
  return { message, send: (signature: string) => browser.submit(page, '/account/wallet/new', { signature }) };
}

it('a wallet that signs the message signs the user in from then on, and the user gets a notice', async () => {
  const form = await openForm();
  const { user, browser, wallet, page } = form;
  expect(page).toMatchObject({ status: 200, heading: TITLE });
  expect((await browser.open('/account')).body).toContain('href="/account/wallet/new"');
  const { message, send } = await sign(form);
  expect(message).toContain('Link this wallet to your account.');
  const done = await send(wallet.sign(message));
  expect(done).toMatchObject({ heading: user.name ?? user.email });
  expect(done.body).toContain('Your wallet is added.');
  expect(done.body).not.toContain('href="/account/wallet/new"');
  expect(await walletOf(user)).toBe(wallet.address);
  await expect.poll(() => noticeTo(user.email)?.subject).toEqual(['mail.walletLinked.subject']);
  const asked = await fixture.askForMessage(wallet.address);
  expect((await asked.send(wallet.sign(asked.message))).location).toContain('authToken=');
  const [event] = await service.database.sql`
    select action from audit_events where resource = ${user.id} and action like '%/account/wallet/%'`;
  expect(event?.action).toBe('POST /account/wallet/new');
});

describe('no wallet is added', () => {
  it('with the signature of another wallet, or of another message, or twice with one message', async () => {
    const form = await openForm();
    const first = await sign(form);
    expect((await first.send(new Wallet().sign(first.message))).alert).toContain('The signature does not match.');
    expect((await first.send(form.wallet.sign(first.message))).alert).toContain('The signature does not match.');
    const { send } = await sign(form);
    const login = await fixture.askForMessage(form.wallet.address);
    expect((await send(form.wallet.sign(login.message))).alert).toContain('The signature does not match.');
    expect(await walletOf(form.user)).toBe('');
    expect(await service.database.sql`select from notices`).toHaveLength(0);
    expect(noticeTo(form.user.email)).toBeUndefined();
  });

  it('that belongs to somebody else', async () => {
    const { wallet } = await fixture.createWalletUser();
    const form = { ...(await openForm()), wallet };
    const { message, send } = await sign(form);
    expect((await send(wallet.sign(message))).alert).toBe('Another account has this wallet.');
    expect(await walletOf(form.user)).toBe('');
  });

  it('in place of another', async () => {
    const { user, wallet: own } = await fixture.createWalletUser();
    const { browser, page } = await openAccount(fixture, user);
    expect((await browser.open('/account/wallet/new')).heading).toBe(user.email);
    await browser.post('/account/wallet/new', { token: tokenOf(page), signature: new Wallet().sign('x') });
    expect(await walletOf(user)).toBe(own.address);
  });

  it('in place of one that came after the question', async () => {
    const form = await openForm();
    const { message, send } = await sign(form);
    const { address } = new Wallet();
    await admin.updateUser({ userId: form.user.id, walletAddress: address });
    expect((await send(form.wallet.sign(message))).alert).toBe('');
    expect(await walletOf(form.user)).toBe(address);
  });

  it('when the message cannot be stored, which is no fault of the wallet', async () => {
    const { browser, page, wallet } = await openForm();
    const { sql } = service.database;
    await sql.unsafe(`alter table wallet_challenges add constraint refused check (address <> '${wallet.address}')`);
    const { fields } = formOf(page, '/account/wallet/new');
    const { status } = await browser.post('/account/wallet/challenge', { ...fields, address: wallet.address });
    await sql`alter table wallet_challenges drop constraint refused`;
    expect(status).toBe(500);
    expect(log.parsed).toMatchObject([{ err: { type: 'PostgresError' } }]);
  });

  it('in another browser with the same cookies of the account page', async () => {
    const form = await openForm();
    const { message } = await sign(form);
    const thief = new LoginBrowser(service);
    await thief.open('/account');
    const account = /(__Host-usher-account)=([^;]+)/.exec(form.browser.cookie ?? '')?.[0] ?? '';
    thief.cookie = `${thief.cookie}; ${account}`;
    const token = tokenOf(await thief.open('/account'));
    const answer = await thief.post('/account/wallet/new', { token, signature: form.wallet.sign(message) });
    expect(answer.heading).toBe('Your account');
    expect(await walletOf(form.user)).toBe('');
  });

  it('10 minutes after the sign-in, whatever was asked before', async () => {
    const form = await openForm();
    const { message, send } = await sign(form);
    clock.advance(10 * MINUTE);
    expect((await form.browser.open('/account/wallet/new')).body).toContain(STALE);
    expect(await ask(form.browser, form.page, form.wallet.address)).toMatchObject({
      status: 400,
      error: expect.any(String),
    });
    await send(form.wallet.sign(message));
    expect(await walletOf(form.user)).toBe('');
  });

  it('by a sign-in that is continued', async () => {
    await admin.updateApplication({ applicationId: tenant.id, singleSignOn: true });
    const user = await createTestUser(service, { walletAddress: '' });
    const asked = await fixture.askForCode({ user });
    await asked.enter(asked.code);
    const { browser } = asked;
    clock.advance(1);
    const choice = await follow(browser, await browser.submit(await browser.open('/account'), '/account/login'));
    const page = await follow(browser, await browser.submit(choice, '/login/continue'));
    expect(page.heading).toBe(user.email);
    const form = await browser.open('/account/wallet/new');
    expect(form.body).toContain(STALE);
    const refused = await browser.post('/account/wallet/challenge', {
      token: tokenOf(form),
      address: new Wallet().address,
    });
    expect(refused.status).toBe(400);
    expect(await walletOf(user)).toBe('');
  });

  it('from a form of another site', async () => {
    const form = await openForm();
    const { message } = await sign(form);
    for (const path of ['/account/wallet/new', '/account/wallet/challenge']) {
      const answer = await form.browser.post(path, { token: 'x', signature: form.wallet.sign(message) });
      expect(answer.status).toBe(403);
    }
    expect(await walletOf(form.user)).toBe('');
  });
});

it('a wallet is removed, unless it may be the only way to sign in', async () => {
  const { user, wallet } = await fixture.createWalletUser();
  const { browser, page } = await openAccount(fixture, user);
  const link = 'href="/account/wallet"';
  expect(page.body).toContain(link);
  expect(page.body).not.toContain('true</');
  await using withoutCodes = await fixture.startReplica({ loginMethods: ['wallet'] });
  const there = browser.at(withoutCodes);
  const shown = await there.open('/account');
  expect(shown.body).toContain(`${wallet.address.slice(0, 6)}…${wallet.address.slice(-4)}`);
  expect(shown.body).not.toContain(link);
  const refused = await there.post('/account/wallet', { token: tokenOf(shown) });
  expect(refused.alert).toBe('This way to sign in is not available here. Please choose another one.');
  expect(await walletOf(user)).toBe(wallet.address);
  const done = await browser.submit(await browser.open('/account/wallet'), '/account/wallet');
  expect(done.body).toContain('Your wallet is removed.');
  expect(await walletOf(user)).toBe('');
});

it('a sign-in gets 20 messages at once, then one every 3 minutes', async () => {
  const { browser, page, wallet } = await openForm();
  const statuses = [];
  for (let count = 0; count < 21; count++) statuses.push((await ask(browser, page, wallet.address)).status);
  expect(statuses).toEqual([...Array(20).fill(200), 400]);
});

it('the form is not there where people cannot sign in with a wallet', async () => {
  const other = await fixture.startReplica({ loginMethods: ['email'] });
  const user = await createTestUser(service, { walletAddress: '' });
  const { browser, page } = await openAccount(fixture, user);
  const there = browser.at(other);
  expect(page.body).toContain('/account/wallet/new');
  expect((await there.open('/account')).body).not.toContain('/account/wallet/new');
  expect((await there.open('/account/wallet/new')).status).toBe(404);
  await other.close();
});
