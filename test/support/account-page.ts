/** The page of a person's account, in a browser without JavaScript. */
import { expect } from 'vitest';
import { showEmail } from '../../src/config/email-address.ts';
import type { Mail } from '../../src/mail/mail.ts';
import { LoginBrowser, type LoginPage } from './login-browser.ts';
import type { LoginFixture } from './login-fixture.ts';
import { clientsOf, PUBLIC_URL, type TestUser } from './service.ts';

/** Follows the redirects that lead to the public URL. */
export async function follow(browser: LoginBrowser, page: LoginPage): Promise<LoginPage> {
  const { location } = page;
  return location?.startsWith(PUBLIC_URL)
    ? follow(browser, await browser.open(location.slice(PUBLIC_URL.length)))
    : page;
}

/** Signs in to the account page with a code. */
export async function openAccount(
  { clock, mailbox, service }: LoginFixture,
  user: TestUser,
  browser = new LoginBrowser(service),
) {
  clock.advance(1);
  const signIn = await browser.open('/account');
  expect(signIn).toMatchObject({ status: 200, heading: 'Your account' });
  const choice = await follow(browser, await browser.submit(signIn, '/account/login'));
  const codePage = await browser.submit(choice, '/login/email', { email: user.email });
  const page = await follow(
    browser,
    await browser.submit(codePage, '/login/code', { code: mailbox.codeFor(user.email) }),
  );
  expect(page).toMatchObject({ status: 200, heading: user.name ?? showEmail(user.email) });
  return { browser, page };
}

/** Signs the user in to the fixture's application, and returns the ID of the session. */
export async function beginSession(fixture: LoginFixture, user: TestUser): Promise<string> {
  const asked = await fixture.askForCode({ user });
  const { location = '' } = await asked.enter(asked.code);
  const authToken = new URL(location).searchParams.get('authToken') ?? '';
  const { session } = await clientsOf(fixture.service, fixture.tenant).auth.exchangeToken({ authToken });
  return session?.id ?? '';
}

/** Returns the form token of the page. */
export function tokenOf({ forms }: LoginPage): string {
  return forms.find(({ fields }) => fields.token)?.fields.token ?? '';
}

/** Changes the address in a browser with the account page, and undoes that by the link in the notice to the old one. */
export async function undoChangeOfAddress(
  { mailbox, service }: LoginFixture,
  browser: LoginBrowser,
  user: TestUser,
): Promise<void> {
  const email = `new-${user.email}`;
  const codePage = await browser.submit(await browser.open('/account/email'), '/account/email', { email });
  await browser.submit(codePage, '/account/email/code', { code: mailbox.codeFor(email) });
  const isNotice = ({ to, link }: Mail) => to === user.email && link?.url.includes('/undo');
  await expect.poll(() => mailbox.mails.some(isNotice)).toBe(true);
  const { pathname, search } = new URL(mailbox.mails.find(isNotice)?.link?.url ?? '');
  const stranger = new LoginBrowser(service);
  const done = await stranger.submit(await stranger.open(pathname + search), '/account/undo');
  expect(done.heading).toBe('Your e-mail address is back');
}
