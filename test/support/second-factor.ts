/** Authenticator apps, and the pages of the second step, in a browser without JavaScript. */
import { expect } from 'vitest';
import { showEmail } from '../../src/config/email-address.ts';
import { computeTotp } from '../../src/domain/second-factor/totp.ts';
import { decodeBase32 } from '../../src/encoding/base32.ts';
import { follow, openAccount } from './account-page.ts';
import { LoginBrowser, type LoginPage } from './login-browser.ts';
import type { LoginFixture } from './login-fixture.ts';
import { createTestUser, type TestUser } from './service.ts';

const STEP_MS = 30_000;
export const STEP = '/login/second-factor';

/** An authenticator app on a phone. */
export class TestApp {
  readonly secret: Buffer;
  recoveryCodes: readonly string[] = [];

  constructor(secret: Buffer) {
    this.secret = secret;
  }

  /** Returns the code that the app shows, so many steps later. */
  codeAt(now: Date, steps = 0): string {
    return computeTotp(this.secret, Math.floor(now.getTime() / STEP_MS) + steps);
  }
}

/** Returns an app that has scanned the page. */
export function scanApp({ body }: LoginPage): TestApp {
  const [, key = ''] = /<code dir="ltr"><bdi>([A-Z2-7 ]+)<\/bdi>/.exec(body) ?? [];
  const secret = decodeBase32(key) ?? Buffer.alloc(0);
  expect(secret).toHaveLength(20);
  return new TestApp(secret);
}

function readRecoveryCodes({ body }: LoginPage): readonly string[] {
  return [...body.matchAll(/<li><bdi>([0-9a-z-]{19})<\/bdi>/g)].map(([, code = '']) => code);
}

/** Scans the page of a set-up, and enters the first code. The app has the recovery codes then. */
export async function finishSetUp({ clock }: LoginFixture, browser: LoginBrowser, page: LoginPage) {
  expect(page).toMatchObject({ status: 200, heading: 'Set up an authenticator app' });
  const app = scanApp(page);
  const codes = await browser.submit(page, `${STEP}/new`, { code: app.codeAt(clock.read()) });
  expect(codes).toMatchObject({ status: 200, heading: 'Your recovery codes', alert: '' });
  app.recoveryCodes = readRecoveryCodes(codes);
  // The first code is used up.
  clock.advance(STEP_MS);
  return { app, codes };
}

/** Signs in to the account page by code, and sets up an app. */
export async function setUpApp(fixture: LoginFixture, user: TestUser, browser?: LoginBrowser) {
  const account = await openAccount(fixture, user, browser);
  const page = await account.browser.open('/account/second-factor');
  return { ...account, ...(await finishSetUp(fixture, account.browser, page)) };
}

/** Takes the second step with the code that the app shows. */
export function takeStep(
  { clock }: LoginFixture,
  { browser, page, app }: { readonly browser: LoginBrowser; readonly page: LoginPage; readonly app: TestApp },
): Promise<LoginPage> {
  return browser.submit(page, STEP, { code: app.codeAt(clock.read()) });
}

/** Creates a user, and sets up an app for them. */
export async function createPersonWithApp(fixture: LoginFixture) {
  const user = await createTestUser(fixture.service);
  return { user, ...(await setUpApp(fixture, user)) };
}

/** Returns a browser after a sign-in to the account page with two factors. */
export async function openWithApp(
  fixture: LoginFixture,
  { user, app }: { readonly user: TestUser; readonly app: TestApp },
): Promise<LoginBrowser> {
  const { clock, mailbox, service } = fixture;
  const browser = new LoginBrowser(service);
  const choice = await follow(browser, await browser.submit(await browser.open('/account'), '/account/login'));
  const codePage = await browser.submit(choice, '/login/email', { email: user.email });
  const page = await browser.submit(codePage, '/login/code', { code: mailbox.codeFor(user.email) });
  clock.advance(STEP_MS);
  const account = await follow(browser, await takeStep(fixture, { browser, page, app }));
  expect(account.heading).toBe(showEmail(user.email));
  return browser;
}

/** Signs in with a code, and returns the page for the second step. */
export async function reachStep(fixture: LoginFixture, by: Parameters<LoginFixture['askForCode']>[0]) {
  const asked = await fixture.askForCode(by);
  const page = await asked.enter(asked.code);
  expect(page).toMatchObject({ status: 200, heading: 'One more step', location: undefined });
  return { ...asked, page };
}
