/** The page where people see and change their own account. */

import { afterAll, describe, expect, it } from 'vitest';
import type { AccountConfig } from '../../../../src/modules/account/settings.ts';
import {
  beginSession as beginSessionOf,
  follow,
  openAccount as signInToAccount,
  tokenOf,
} from '../../../support/account-page.ts';
import { HOUR, MINUTE, SECOND } from '../../../support/clock.ts';
import { formOf, LoginBrowser, textOf } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { wrongCode } from '../../../support/mail-server.ts';
import { adminClient, clientsOf, createTestUser, PUBLIC_URL, type TestUser } from '../../../support/service.ts';

const fixture = await LoginFixture.open();
const { clock, mailbox, service, tenant } = fixture;
afterAll(() => fixture.close());
const admin = adminClient(service);

const openAccount = (user: TestUser, browser?: LoginBrowser) => signInToAccount(fixture, user, browser);
const beginSession = (user: TestUser) => beginSessionOf(fixture, user);

const newAddress = () => `${crypto.randomUUID()}@example.com`;

/** As an application asks that accepts an answer of a moment ago. */
const isActive = async (sessionId: string) =>
  (await clientsOf(service, tenant).sessions.checkSession({ sessionId })).active;
/** Whether the browser keeps a sign-in to the account page. */
const hasCookie = ({ cookie = '' }: LoginBrowser) => /usher-account=./.test(cookie);

describe('a person', () => {
  it('signs in with a click, and sees name, address and sessions', async () => {
    const user = await createTestUser(service, { name: 'Ada <b>' });
    await beginSession(user);
    const { page } = await openAccount(user);
    expect(page.body).toContain('Ada &#60;b&#62;');
    // Lines of the address break after its @ and before its dots.
    expect(page.body).toContain(user.email.replace('@', '@<wbr>').replace('.com', '<wbr>.com'));
    expect(page.body).toContain(tenant.name);
    expect(page.headers['cache-control']).toBe('no-store');
  });

  it('sees the names of their groups', async () => {
    const user = await createTestUser(service);
    expect((await openAccount(user)).page.body).not.toContain('Groups');
    const { group } = await admin.createGroup({ name: 'editors', displayName: 'The <b> editors' });
    const { group: plain } = await admin.createGroup({ name: 'night-shift' });
    for (const each of [group, plain]) await admin.addGroupMember({ groupId: each?.groupId ?? '', userId: user.id });
    clock.advance(MINUTE);
    const { page } = await openAccount(user);
    expect(page.body).toContain('Groups');
    expect(textOf(page.body)).toContain('The <b> editors · night-shift');
  });

  it('reads the name of the page in their language when they sign in, also in the e-mail', async () => {
    const user = await createTestUser(service);
    const browser = new LoginBrowser(service);
    const choice = await follow(
      browser,
      await browser.submit(await browser.open('/account?lang=fr'), '/account/login'),
    );
    expect(choice.heading).toBe('Se connecter à Votre compte');
    await browser.submit(choice, '/login/email', { email: user.email });
    await expect.poll(() => mailbox.mails.find(({ to }) => to === user.email)?.application.name).toBe('Votre compte');
  });

  it('changes the name', async () => {
    const user = await createTestUser(service, { name: 'Ada' });
    const { browser } = await openAccount(user);
    const form = await browser.open('/account/name');
    const page = await browser.submit(form, '/account/name', { name: 'Countess' });
    expect(page).toMatchObject({ heading: 'Countess' });
    expect((await admin.getUser({ userId: user.id })).user?.name).toBe('Countess');
  });

  it('ends one session, and all', async () => {
    const user = await createTestUser(service);
    const first = await beginSession(user);
    const { browser, page } = await openAccount(user);
    expect(await isActive(first)).toBe(true);
    await browser.submit(page, '/account/sessions/end');
    expect(await isActive(first)).toBe(false);
    const second = await beginSession(user);
    expect([await isActive(second), hasCookie(browser)]).toEqual([true, true]);
    const ended = await browser.submit(await browser.open('/account'), '/account/sessions/end-all');
    expect(ended).toMatchObject({ heading: 'Your account' });
    expect(textOf(ended.body)).toContain('You are signed out everywhere.');
    expect([await isActive(second), hasCookie(browser)]).toEqual([false, false]);
    expect((await browser.open('/account/name')).heading).toBe('Your account');
  });

  it('removes the wallet', async () => {
    const { user, wallet } = await fixture.createWalletUser();
    const { browser, page } = await openAccount(user);
    expect(page.body).toContain(wallet.address.slice(0, 6));
    await browser.submit(await browser.open('/account/wallet'), '/account/wallet');
    expect((await admin.getUser({ userId: user.id })).user?.walletAddress).toBe('');
  });

  it('downloads what is stored', async () => {
    const user = await createTestUser(service, { name: 'Ada' });
    const sessionId = await beginSession(user);
    const { browser } = await openAccount(user);
    const { headers, body } = await browser.open('/account/data');
    expect(headers['content-disposition']).toBe('attachment; filename="account.json"');
    expect(JSON.parse(body)).toMatchObject({
      user: { id: user.id, email: user.email, name: 'Ada' },
      sessions: [{ applicationName: tenant.name, method: 'email' }],
      applications: [{ id: tenant.id, name: tenant.name }],
      knownBrowsersAndNetworks: expect.any(Number),
    });
    expect(body).not.toContain(sessionId);
  });

  it('deletes the account by typing the address', async () => {
    const user = await createTestUser(service, { name: 'Ada' });
    const sessionId = await beginSession(user);
    const { browser } = await openAccount(user);
    const form = await browser.open('/account/delete');
    const wrong = await browser.submit(form, '/account/delete', { email: 'eve@example.com' });
    expect([await isActive(sessionId), hasCookie(browser)]).toEqual([true, true]);
    expect(wrong).toMatchObject({ heading: 'Delete your account', alert: 'That is not your e-mail address.' });
    const gone = await browser.submit(wrong, '/account/delete', { email: user.email.toUpperCase() });
    expect(gone.heading).toBe('Your account is deleted');
    expect([await isActive(sessionId), hasCookie(browser)]).toEqual([false, false]);
    await expect(admin.getUser({ userId: user.id })).rejects.toThrow('User not found');
    expect((await browser.open('/account')).forms.map(({ action }) => action)).toEqual(['/account/login']);
  });

  it('cannot delete it where the operator forbids that', async () => {
    const config: Partial<AccountConfig> = { allowAccountDeletion: false };
    const replica = await fixture.startReplica(config);
    const user = await createTestUser(service);
    const { browser, page } = await openAccount(user, new LoginBrowser(replica));
    expect(page.body).not.toContain('/account/delete');
    expect((await browser.open('/account/delete')).heading).toBe(user.email);
    const token = tokenOf(await browser.open('/account/name'));
    const refused = await browser.post('/account/delete', { token, email: user.email });
    expect(refused.heading).toBe(user.email);
    expect((await admin.getUser({ userId: user.id })).user?.email).toBe(user.email);
    await replica.close();
  });
});

describe('the change of the e-mail address', () => {
  async function askForCode(user: TestUser, email: string) {
    const { browser } = await openAccount(user);
    const form = await browser.open('/account/email');
    return { browser, codePage: await browser.submit(form, '/account/email', { email }) };
  }

  /** Changes the address in a browser that is signed in. Returns the new one, and the path of the link to the old one. */
  async function changeAddress(browser: LoginBrowser, from: string) {
    const email = newAddress();
    // The code is later than that of an earlier change.
    clock.advance(SECOND);
    const codePage = await browser.submit(await browser.open('/account/email'), '/account/email', { email });
    await browser.submit(codePage, '/account/email/code', { code: mailbox.codeFor(email) });
    return { email, link: await undoLinkTo(from) };
  }

  /** Returns the path of the link in the notice to the address. */
  async function undoLinkTo(email: string): Promise<string> {
    const findNotice = () => mailbox.mails.findLast(({ to, kind }) => to === email && kind === 'change of address');
    await expect.poll(findNotice).toBeDefined();
    return (findNotice()?.link?.url ?? '').slice(PUBLIC_URL.length);
  }

  async function submitUndo(link: string): Promise<string> {
    const stranger = new LoginBrowser(service);
    return (await stranger.submit(await stranger.open(link), '/account/undo')).heading;
  }

  it('goes on in another language, with the alert', async () => {
    const { browser, codePage } = await askForCode(await createTestUser(service), newAddress());
    const wrong = await browser.submit(codePage, '/account/email/code', { code: '' });
    const german = await browser.switchLanguage(wrong, 'de');
    expect(german).toMatchObject({
      heading: 'Sehen Sie in Ihre E-Mails',
      alert: 'Bitte geben Sie die Ziffern aus der E-Mail ein.',
    });
  });

  it('tells how long to wait after too many codes', async () => {
    const { browser } = await openAccount(await createTestUser(service));
    const email = newAddress();
    const ask = async () => browser.submit(await browser.open('/account/email'), '/account/email', { email });
    let { alert } = await ask();
    for (let count = 2; count <= 6; count++) ({ alert } = await ask());
    expect(alert).toMatch(/^Too many codes were requested.*20 minutes/);
  });

  it('takes a code that goes to the new address, and tells the old one, which can bring itself back', async () => {
    const user = await createTestUser(service);
    const email = newAddress();
    const { browser, codePage } = await askForCode(user, email);
    expect(codePage).toMatchObject({ heading: 'Check your e-mail' });
    const wrong = await browser.submit(codePage, '/account/email/code', { code: wrongCode(mailbox.codeFor(email)) });
    expect(wrong.alert).toContain('That is not the code we sent.');
    const page = await browser.submit(wrong, '/account/email/code', { code: mailbox.codeFor(email) });
    expect(page.body).toContain('Your e-mail address is changed.');
    expect((await admin.getUser({ userId: user.id })).user?.email).toBe(email);

    const undo = await undoLinkTo(user.email);
    const stranger = new LoginBrowser(service);
    const question = await stranger.open(undo);
    expect((await admin.getUser({ userId: user.id })).user?.email).toBe(email);
    expect((await stranger.submit(question, '/account/undo')).heading).toBe('Your e-mail address is back');
    expect((await admin.getUser({ userId: user.id })).user?.email).toBe(user.email);
    // Whoever had changed it is signed out.
    expect((await browser.open('/account')).heading).toBe('Your account');
  });

  it('cannot be undone after 7 days, after another change, or with another link', async () => {
    const user = await createTestUser(service);
    const email = newAddress();
    const { browser, codePage } = await askForCode(user, email);
    await browser.submit(codePage, '/account/email/code', { code: mailbox.codeFor(email) });
    const link = await undoLinkTo(user.email);
    const open = (path: string) => new LoginBrowser(service).open(path);
    expect((await open('/account/undo?t=abc')).heading).toBe('This link does not work any more');
    const stranger = new LoginBrowser(service);
    const question = await stranger.open(link);
    await admin.updateUser({ userId: user.id, email: newAddress() });
    expect((await stranger.submit(question, '/account/undo')).heading).toBe('This link does not work any more');
    clock.advance(7 * 24 * HOUR);
    expect((await open(link)).heading).toBe('This link does not work any more');
  });

  it('can be undone after a second change, whose own link is void then, and by a second click', async () => {
    const user = await createTestUser(service);
    const { browser } = await openAccount(user);
    const first = await changeAddress(browser, user.email);
    const second = await changeAddress(browser, first.email);
    const checkSession = (sessionId: string) => clientsOf(service, tenant).sessions.checkSession({ sessionId });
    const sessionId = await beginSession({ ...user, email: second.email });
    expect(await checkSession(sessionId)).toMatchObject({ active: true });
    expect(await submitUndo(first.link)).toBe('Your e-mail address is back');
    expect(await checkSession(sessionId)).toMatchObject({ active: false });
    expect((await browser.open('/account')).heading).toBe('Your account');
    expect(await submitUndo(second.link)).toBe('This link does not work any more');
    expect((await admin.getUser({ userId: user.id })).user?.email).toBe(user.email);

    const later = await beginSession(user);
    expect(await submitUndo(first.link)).toBe('Your e-mail address is back');
    expect(await checkSession(later)).toMatchObject({ active: false });
  });

  it('can be undone for 7 days, also after the link of a second change was used', async () => {
    const user = await createTestUser(service);
    const { browser } = await openAccount(user);
    const first = await changeAddress(browser, user.email);
    const second = await changeAddress(browser, first.email);
    expect(await submitUndo(second.link)).toBe('Your e-mail address is back');
    expect((await admin.getUser({ userId: user.id })).user?.email).toBe(first.email);
    clock.advance(7 * 24 * HOUR - 5 * SECOND);
    expect(await submitUndo(first.link)).toBe('Your e-mail address is back');
    expect((await admin.getUser({ userId: user.id })).user?.email).toBe(user.email);
  });

  it('to the address of another user looks the same, sends nothing and changes nothing', async () => {
    const [user, other] = [await createTestUser(service), await createTestUser(service)];
    const { browser, codePage } = await askForCode(user, other.email);
    expect(codePage).toMatchObject({ heading: 'Check your e-mail', alert: '' });
    expect(mailbox.mails.filter(({ to }) => to === other.email)).toEqual([]);
    const refused = await browser.submit(codePage, '/account/email/code', { code: '123456' });
    expect(refused.alert).toContain('That is not the code we sent.');
    expect((await admin.getUser({ userId: user.id })).user?.email).toBe(user.email);
  });

  it('takes a code in the browser that asked for it only', async () => {
    const user = await createTestUser(service);
    const email = newAddress();
    const { codePage } = await askForCode(user, email);
    const { change = '' } = formOf(codePage, '/account/email/code').fields;
    const { browser } = await openAccount(user);
    const token = tokenOf(await browser.open('/account/email'));
    const refused = await browser.post('/account/email/code', { token, change, code: mailbox.codeFor(email) });
    expect(refused.alert).toContain('This code is not valid any more.');
  });
});

describe('a sign-in to the account', () => {
  it('is good for changes for 15 minutes, and for looking while it is used', async () => {
    const user = await createTestUser(service, { name: 'Ada' });
    const { browser } = await openAccount(user);
    clock.advance(10 * MINUTE);
    const form = await browser.open('/account/name');
    clock.advance(6 * MINUTE);
    const page = await browser.submit(form, '/account/name', { name: 'Eve' });
    expect(page.body).toContain('Sign in again');
    expect((await admin.getUser({ userId: user.id })).user?.name).toBe('Ada');
    clock.advance(15 * MINUTE);
    expect((await browser.open('/account')).heading).toBe('Your account');
  });

  it('can be continued for looking, until the person signs out', async () => {
    const user = await createTestUser(service);
    const { browser } = await openAccount(user);
    clock.advance(16 * MINUTE);
    const again = await follow(browser, await browser.submit(await browser.open('/account'), '/account/login'));
    expect(again.heading).toBe('Welcome back');
    const page = await follow(browser, await browser.submit(again, '/login/continue'));
    expect(page).toMatchObject({ heading: user.email });
    expect(page.body).toContain('Sign in again');
    const fresh = await follow(browser, await browser.submit(page, '/account/login'));
    expect(fresh.heading).toBe('Sign in to Your account');
    const token = tokenOf(await browser.open('/account/name'));
    await browser.post('/account/logout', { token });
    const gone = await follow(browser, await browser.submit(await browser.open('/account'), '/account/login'));
    expect(gone.heading).toBe('Sign in to Your account');
  });

  it('is not good for changes if it is continued, however recent it is', async () => {
    const user = await createTestUser(service, { name: 'Ada' });
    const { browser } = await openAccount(user);
    const token = tokenOf(await browser.open('/account/name'));
    const again = await follow(browser, await browser.post('/account/login', { token }));
    expect(again.heading).toBe('Welcome back');
    const page = await follow(browser, await browser.submit(again, '/login/continue'));
    expect(page.body).toContain('Sign in again');
    for (const [path, fields] of [
      ['name', { name: 'Eve' }],
      ['email', { email: newAddress() }],
      ['wallet', {}],
      ['delete', { email: user.email }],
    ] as const) {
      expect((await browser.post(`/account/${path}`, { token, ...fields })).body).toContain('Sign in again');
    }
    expect((await admin.getUser({ userId: user.id })).user).toMatchObject({ name: 'Ada', email: user.email });
    expect(mailbox.sentTo(user.email)).toHaveLength(1);
  });

  it('ends with the user', async () => {
    const user = await createTestUser(service);
    const { browser } = await openAccount(user);
    await admin.deactivateUser({ userId: user.id });
    await admin.reactivateUser({ userId: user.id });
    expect((await browser.open('/account')).heading).toBe('Your account');
  });

  it('says nothing in another browser, with another form, or with a state of another browser', async () => {
    const user = await createTestUser(service);
    const { browser, page } = await openAccount(user);
    const other = new LoginBrowser(service);
    const empty = await other.open('/account');
    const stolen = (browser.cookie ?? '').split('; ').filter((pair) => pair.includes('account='));
    other.cookie = [other.cookie, ...stolen].join('; ');
    expect((await other.open('/account')).heading).toBe('Your account');
    expect((await browser.post('/account/name', { token: tokenOf(empty), name: 'Eve' })).status).toBe(403);
    expect((await admin.getUser({ userId: user.id })).user?.name).toBe(user.name ?? undefined);
    expect(tokenOf(page)).not.toBe(tokenOf(empty));
  });

  it.each([
    ['no token', ''],
    ['a token of nobody', 'authToken=x'],
    ['a foreign state', 'authToken=x&state=y'],
  ])('does not begin with %s', async (_name, query) => {
    const browser = new LoginBrowser(service);
    await browser.open('/account');
    expect(await browser.open(`/account/return?${query}`)).toMatchObject({ heading: 'Your account' });
    expect(browser.cookie).not.toContain('account=');
  });
});

describe('the application of the account page', () => {
  it('is none of the operators’', async () => {
    const applicationId = '00000000-0000-4000-8000-000000000001';
    await expect(admin.getApplication({ applicationId })).rejects.toThrow('Application not found');
    await expect(admin.deleteApplication({ applicationId })).rejects.toThrow('Application not found');
    await expect(admin.createApiKey({ applicationId })).rejects.toThrow('Application not found');
    const { applications } = await admin.listApplications({});
    expect(applications.map(({ id }) => id)).not.toContain(applicationId);
  });
});
