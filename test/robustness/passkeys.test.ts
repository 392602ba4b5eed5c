/** Passkeys in Chromium, with the virtual authenticator of its debugging protocol. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  answerFor,
  collectProblems,
  expectAccessible,
  launchChromium,
  PAGE_TIMEOUT_MS,
  SKIPS_CHROMIUM,
} from '../support/chromium.ts';
import { beginLogin, newAddress } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { createTestUser, type TestUser } from '../support/service.ts';
import { addAuthenticator } from '../support/virtual-authenticator.ts';

const CALLBACK = 'http://127.0.0.1/callback';

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', () => {
  let fixture: LoginFixture;
  let chrome: Browser;
  let context: BrowserContext;
  let problems: readonly string[];

  beforeAll(async () => {
    fixture = await LoginFixture.open({
      name: 'The Corner Shop',
      redirectUris: [CALLBACK],
      config: { publicUrl: undefined, loginMethods: ['email', 'wallet', 'passkey'] },
    });
    chrome = await launchChromium();
  });
  afterEach(() => context.close());
  afterAll(async () => {
    await chrome?.close();
    await fixture?.close();
  });

  /** Opens a browser with an authenticator. The application is a page that says so. */
  async function openBrowser() {
    context = await chrome.newContext({ extraHTTPHeaders: { 'x-forwarded-for': newAddress() } });
    problems = collectProblems(context);
    // What waits in the list of suggestions would sign in by itself if the person was present when it is asked.
    await context.addInitScript(`
      const get = navigator.credentials?.get.bind(navigator.credentials);
      if (get) navigator.credentials.get = (options) => {
        const asked = get(options);
        window.waits = options.mediation === 'conditional';
        return asked;
      };`);
    const page = await context.newPage();
    await answerFor(page, `${CALLBACK}*`, '<h1>Shop</h1>');
    return { page, ...(await addAuthenticator(page)) };
  }

  type Opened = Awaited<ReturnType<typeof openBrowser>>;

  async function openLogin(page: Page, more = '', requiredAssurance = 'ANY'): Promise<string> {
    const demands = { redirectUri: CALLBACK, requiredAssurance };
    const login = await beginLogin(fixture.service, fixture.tenant, demands);
    await page.goto(`http://localhost:${fixture.service.port}${login.path}${more}`);
    return login.loginIntentId;
  }

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).waitFor();

  /** Clicks as a person who is present from now on. */
  async function clickPasskey({ page, setPresent }: Opened): Promise<void> {
    await page.waitForFunction('window.waits');
    await setPresent(true);
    await button(page, 'Use a passkey').click();
  }

  async function enterCode(page: Page, user: TestUser): Promise<void> {
    fixture.clock.advance(1);
    await page.getByLabel('E-mail address').fill(user.email);
    await button(page, 'Continue with e-mail').click();
    await heading(page, 'Check your e-mail');
    // A code that comes at once is submitted by the page.
    await page.getByLabel('Code').fill(fixture.mailbox.codeFor(user.email));
  }

  /** Signs a new user in by code, and saves the passkey that is offered then. */
  async function savePasskey(opened: Opened): Promise<TestUser> {
    const { page, setPresent } = opened;
    const user = await createTestUser(fixture.service);
    await openLogin(page);
    await enterCode(page, user);
    await heading(page, 'Sign in faster next time');
    await setPresent(true);
    await button(page, 'Save a passkey').click();
    await heading(page, 'Shop');
    await setPresent(false);
    return user;
  }

  async function expectSignedIn(loginIntentId: string, user: TestUser): Promise<void> {
    const rows = await fixture.service.database.sql`
      select user_id, method from login_intents where id = ${loginIntentId}`;
    expect(rows).toEqual([{ user_id: user.id, method: 'passkey' }]);
  }

  it('a person saves the passkey that is offered, and signs in with the button', async () => {
    const opened = await openBrowser();
    const { page } = opened;
    const user = await savePasskey(opened);
    const loginIntentId = await openLogin(page);
    await clickPasskey(opened);
    await heading(page, 'Shop');
    await expectSignedIn(loginIntentId, user);
    expect(problems).toEqual([]);
  });

  it('a person signs in with a passkey that the browser suggests in the e-mail field', async () => {
    const opened = await openBrowser();
    const { page, setPresent } = opened;
    const user = await savePasskey(opened);
    await setPresent(true);
    const loginIntentId = await openLogin(page);
    await heading(page, 'Shop');
    await expectSignedIn(loginIntentId, user);
  });

  it('a person whom the device does not verify at first signs in with the second try, in one of two tabs', async () => {
    const opened = await openBrowser();
    const { page, cdp, authenticatorId, setPresent } = opened;
    const user = await savePasskey(opened);
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
    const first = await openLogin(page);
    // Another tab of the same browser begins a login of its own, whose challenge is another.
    const other = await page.context().newPage();
    const second = await openLogin(other);
    await page.bringToFront();
    await setPresent(true);
    await button(page, 'Use a passkey').click();
    await page.getByText(/This browser cannot use passkeys here|You were not signed in/).waitFor();
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });
    await button(page, 'Use a passkey').click();
    await heading(page, 'Shop');
    await expectSignedIn(first, user);
    expect(await fixture.isCompleted(second)).toBe(false);
    await other.bringToFront();
    await enterCode(other, user);
    await expect.poll(() => fixture.isCompleted(second), { timeout: PAGE_TIMEOUT_MS }).toBe(true);
  });

  it('where more than one factor is demanded, only a passkey that has verified the person signs in', async () => {
    const opened = await openBrowser();
    const { page, cdp, authenticatorId, setPresent } = opened;
    await savePasskey(opened);
    const verify = (isUserVerified: boolean) =>
      cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified });
    const levelOf = async (loginIntentId: string) =>
      (await fixture.service.database.sql`select assurance from login_intents where id = ${loginIntentId}`)[0]
        ?.assurance;
    const usual = await openLogin(page);
    // Says that it has not verified the person, whatever was asked of it.
    await cdp.send('WebAuthn.setResponseOverrideBits', { authenticatorId, isBadUV: true });
    await clickPasskey(opened);
    await heading(page, 'Shop');
    expect(await levelOf(usual)).toBe(1);

    const loginIntentId = await openLogin(page, '', 'PHISHING_RESISTANT');
    await page.getByText('accepts only a passkey that checks your fingerprint, face or PIN').waitFor();
    expect(await page.getByLabel('E-mail address').count()).toBe(0);
    await expectAccessible(page);
    await button(page, 'Use a passkey').click();
    await page.getByText('That is not enough here.').waitFor();
    await cdp.send('WebAuthn.setResponseOverrideBits', { authenticatorId });
    await verify(false);
    await button(page, 'Use a passkey').click();
    await page.getByText(/This browser cannot use passkeys here|You were not signed in/).waitFor();
    expect(await levelOf(loginIntentId)).toBe(null);
    await verify(true);
    await button(page, 'Use a passkey').click();
    await heading(page, 'Shop');
    expect(await levelOf(loginIntentId)).toBe(3);
    await setPresent(false);
  });

  it('a passkey that was removed is refused, and the browser forgets it', async () => {
    const opened = await openBrowser();
    const { page, cdp, authenticatorId, setPresent } = opened;
    const user = await savePasskey(opened);
    await fixture.service.database.sql`delete from passkeys where user_id = ${user.id}`;
    await setPresent(true);
    await openLogin(page);
    await page.getByText('This passkey is not known any more.').waitFor();
    const credentials = async () => (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials;
    await expect.poll(credentials).toEqual([]);
    await enterCode(page, user);
    await heading(page, 'Sign in faster next time');
  });

  it('the page says what to do if the signature is wrong, nobody is there, or there is no passkey', async () => {
    const opened = await openBrowser();
    const { page, cdp, authenticatorId, setPresent } = opened;
    await savePasskey(opened);
    for (const bits of [{ isBogusSignature: true }, { isBadUP: true }]) {
      await openLogin(page);
      await cdp.send('WebAuthn.setResponseOverrideBits', { authenticatorId, ...bits });
      await clickPasskey(opened);
      await page.getByText('The passkey did not work.').waitFor();
      await setPresent(false);
      await cdp.send('WebAuthn.setResponseOverrideBits', { authenticatorId });
    }
    await cdp.send('WebAuthn.clearCredentials', { authenticatorId });
    await openLogin(page);
    await clickPasskey(opened);
    await page.getByText('This browser cannot use passkeys here.').waitFor();
    expect(await page.getByLabel('E-mail address').isEnabled()).toBe(true);
  });

  it('a person names and removes passkeys, and the offer may be refused', async () => {
    const { page, setPresent } = await openBrowser();
    const user = await createTestUser(fixture.service);
    await openLogin(page);
    await enterCode(page, user);
    await heading(page, 'Sign in faster next time');
    await expectAccessible(page);
    await button(page, 'Not now').click();
    await heading(page, 'Shop');
    await openLogin(page);
    await button(page, 'Manage passkeys').click();
    await enterCode(page, user);
    await heading(page, 'Your passkeys');
    await setPresent(true);
    await button(page, 'Add a passkey').click();
    await page.getByLabel('Name').fill('Key on the ring');
    await page.getByRole('button', { name: 'Rename' }).click();
    await page.getByText('Key on the ring').first().waitFor();
    await expectAccessible(page);
    await button(page, 'Add a passkey').click();
    await page.getByText('You have this passkey already.').waitFor();
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('You have no passkeys yet.').waitFor();
    await page.getByRole('button', { name: 'Back to' }).click();
    await heading(page, 'Shop');
    expect(problems).toEqual([]);
  });
});
