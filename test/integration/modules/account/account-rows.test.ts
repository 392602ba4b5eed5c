/** The link of a notice leads to the row of the account page that the e-mail speaks of. */
import { afterAll, expect, it, test } from 'vitest';
import { findNoticeRow, readAccountRow } from '../../../../src/domain/notices/notice-row.ts';
import { follow, openAccount } from '../../../support/account-page.ts';
import { request } from '../../../support/http.ts';
import { LoginBrowser } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { SoftwarePasskey } from '../../../support/passkey.ts';
import { savePasskey, TO_PASSKEYS } from '../../../support/passkey-page.ts';
import { createTestUser, PUBLIC_URL } from '../../../support/service.ts';

const fixture = await LoginFixture.open({ config: { loginMethods: ['email', 'passkey'] } });
const { clock, mailbox, service } = fixture;
afterAll(() => fixture.close());

/** Opens the path without following its redirect, whose fragment would be lost. */
async function redirectOf({ cookie = '' }: LoginBrowser, path: string): Promise<string> {
  const { headers } = await request(service.url, { path, headers: { cookie } });
  return headers.location ?? '';
}

/** Opens a link below the account page in a new browser, and signs in there. Returns the last redirect. */
async function signInFrom(path: string, email: string, browser = new LoginBrowser(service), typed = {}) {
  clock.advance(1);
  const choice = await follow(browser, await browser.submit(await browser.open(path), '/account/login', typed));
  const codePage = await browser.submit(choice, '/login/email', { email });
  const answer = await browser.submit(codePage, '/login/code', { code: mailbox.codeFor(email) });
  return redirectOf(browser, (answer.location ?? '').slice(PUBLIC_URL.length));
}

async function addPasskey() {
  const user = await createTestUser(service);
  const { browser, codePage, code } = await fixture.askForCode({ user });
  const page = await browser.submit(codePage, '/login/code', { code, ...TO_PASSKEYS });
  await savePasskey({ browser, page }, new SoftwarePasskey(), PUBLIC_URL);
  const find = () => mailbox.mails.find(({ to, kind }) => to === user.email && kind === 'passkey notice');
  await expect.poll(find).toBeDefined();
  return { user, path: (find()?.action?.url ?? '').slice(PUBLIC_URL.length) };
}

it('leads to the new passkey, through the login and for somebody who is signed in', async () => {
  const { user, path } = await addPasskey();
  const location = await signInFrom(path, user.email);
  expect(location).toMatch(/^\/account#passkey-[0-9a-f-]{36}$/);
  const { browser, page } = await openAccount(fixture, user);
  expect(page.body).toContain(`<div class="item" id="${location.split('#')[1]}">`);
  expect(await redirectOf(browser, path)).toBe(location);
});

it('keeps the row when the person chooses another language first', async () => {
  const { user, path } = await addPasskey();
  const browser = new LoginBrowser(service);
  const { languageSwitch } = await browser.open(path);
  const { action = '', fields } = languageSwitch ?? {};
  const chosen = `${action}?${new URLSearchParams({ ...fields, lang: 'de' })}`;
  expect(await signInFrom(chosen, user.email, browser)).toContain('/account#passkey-');
});

it('leads to the start of the page if the sign-in fails', async () => {
  const browser = new LoginBrowser(service);
  const begun = await browser.submit(await browser.open('/account?row=ways'), '/account/login');
  const choice = await browser.open((begun.location ?? '').slice(PUBLIC_URL.length));
  const cancelled = await browser.submit(choice, '/login/cancel');
  const forged = new URL((cancelled.location ?? '').replace('error=', 'authToken='));
  expect(await redirectOf(browser, forged.pathname + forged.search)).toMatch(/^\/account\?problem=\w+$/);
});

const foreign = ['', 'https://evil.test', '//evil.test', '/evil', 'passkey-a/../b', 'data', 'ways\r\nx: y', 'sign-in-'];
it.each([...foreign, 'passkey-<b>', `passkey-${'a'.repeat(41)}`])(
  'leads to the start of the page for %j',
  async (row) => {
    expect(readAccountRow(row)).toBeUndefined();
    const user = await createTestUser(service);
    const path = `/account?${new URLSearchParams({ row })}`;
    expect(await signInFrom(path, user.email)).toBe('/account');
    // A form that somebody has changed.
    expect(await signInFrom('/account?row=ways', user.email, new LoginBrowser(service), { row })).toBe('/account');
    const { browser } = await openAccount(fixture, user);
    expect(await redirectOf(browser, path)).toBe('');
  },
);

test.each([
  ['addressChanged', 'email'],
  ['addressReplaced', 'email'],
  ['clientAllowed', 'clients'],
  ['deviceAllowed', 'where'],
  ['identityLinked', 'provider-acme'],
  ['identityRemoved', 'ways'],
  ['newDevice', 'sign-in-1790000000000'],
  ['passkeyAdded', 'passkey-7'],
  ['passkeyRemoved', 'ways'],
  ['recovered', 'ways'],
  ['recoveredFormer', 'ways'],
  ['walletLinked', 'wallet'],
  ['walletRemoved', 'ways'],
] as const)('the notice %s leads to %s', (kind, row) => {
  const notice = { kind, id: '7', value: 'acme', changedAt: new Date(1_790_000_000_000) };
  expect(findNoticeRow(notice)).toBe(row);
  expect(readAccountRow(row)).toBe(row);
});

test.each(['accountDeleted', 'invitation', 'recoveryFailed', 'recoveryStarted'] as const)(
  'the notice %s speaks of no row',
  (kind) => {
    expect(findNoticeRow({ kind, id: '7', value: '', changedAt: new Date() })).toBeUndefined();
  },
);
