/** The demo application in a real browser. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collectProblems, expectAccessible, launchChromium, SKIPS_CHROMIUM } from '../support/chromium.ts';
import { MINUTE } from '../support/clock.ts';
import { type DemoFixture, demoOf, openDemoFixture } from '../support/demo-fixture.ts';
import { addAuthenticator } from '../support/virtual-authenticator.ts';
import { Wallet } from '../support/wallet.ts';

const HOME = 'An application that has no passwords';

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', () => {
  let demo: DemoFixture;
  let chrome: Browser;

  beforeAll(async () => {
    demo = await openDemoFixture();
    chrome = await launchChromium();
  });
  afterAll(async () => {
    await chrome?.close();
    await demo?.[Symbol.asyncDispose]();
  });

  const click = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
  const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).waitFor();

  async function typeEmail(page: Page, email: string): Promise<void> {
    await page.getByLabel('E-mail address').fill(email);
    await click(page, 'Continue');
    await heading(page, 'Check your e-mail');
    await page.getByLabel('Code').pressSequentially(demo.mailbox.codeFor(email));
    await click(page, 'Sign in');
  }

  async function readHeading(page: Page, path: string): Promise<string | null> {
    await page.goto(new URL(path, demoOf(demo.service).redirectUri).href);
    return page.locator('h1').textContent();
  }

  /** Returns the minutes that the page shows to be left of the session. */
  const minutesLeft = async (page: Page) => {
    const shown = page.locator('output');
    await expect.poll(() => shown.textContent()).toMatch(/^\d+:\d\d$/);
    return Number.parseInt((await shown.textContent()) ?? '', 10);
  };

  it('a person signs up, sees the profile and the remaining time, renews the session and signs out', async () => {
    await using context = await chrome.newContext({ viewport: { width: 360, height: 740 } });
    const problems = collectProblems(context);
    const page = await context.newPage();
    await page.goto(demo.service.url);
    await expectAccessible(page);
    await page.goto(`${demo.service.url}/demo`);
    await expectAccessible(page);
    await click(page, 'Sign in or sign up');
    await heading(page, 'Sign in or sign up to Demo');
    const email = 'Grace@example.com';
    await typeEmail(page, email);
    await heading(page, 'Welcome');
    await expectAccessible(page);
    await page.getByLabel('Your name').fill('Grace Hopper');
    await click(page, 'Sign up');
    await heading(page, 'Hello, Grace Hopper');
    await expectAccessible(page);
    await page.locator('dl').getByText(email).waitFor();
    expect(await minutesLeft(page)).toBeLessThanOrEqual(15);
    // The clock of the browser stands where it was, so that a renewed session ends after more than 15 minutes.
    demo.clock.advance(10 * MINUTE);
    await page.reload();
    await click(page, 'Renew');
    await expect.poll(() => minutesLeft(page)).toBeGreaterThan(20);
    await click(page, 'Sign out');
    await heading(page, HOME);
    await page.reload();
    await heading(page, HOME);
    await click(page, 'Sign in or sign up');
    await click(page, 'Cancel');
    await heading(page, 'You cancelled');
    expect(problems).toEqual([]);
  });

  it('a person saves a passkey, is back by one touch, continues in the second application, and ends all on the account page', async () => {
    await using context = await chrome.newContext({ viewport: { width: 360, height: 740 } });
    const problems = collectProblems(context);
    const page = await context.newPage();
    // Browsers allow passkeys at localhost only, not at 127.0.0.1.
    await page.goto(`${demo.service.url}/demo`);
    const authenticator = await addAuthenticator(page);
    await click(page, 'Sign in or sign up');
    const email = 'lin@example.com';
    await typeEmail(page, email);
    await page.getByLabel('Your name').fill('Lin Chen');
    await click(page, 'Sign up');
    await heading(page, 'Sign in faster next time');
    await authenticator.setPresent(true);
    await click(page, 'Save a passkey');
    await heading(page, 'Hello, Lin Chen');
    await authenticator.setPresent(false);
    await page.getByText('Code by e-mail').waitFor();
    await click(page, 'Sign out');
    await heading(page, HOME);

    demo.clock.advance(MINUTE);
    await click(page, 'Sign in or sign up');
    // Signing out has forgotten the sign-in, so that nothing is offered to continue.
    await heading(page, 'Sign in or sign up to Demo');
    await authenticator.setPresent(true);
    await click(page, 'Use a passkey');
    await heading(page, 'Hello, Lin Chen');
    await page.getByText('Passkey', { exact: true }).waitFor();
    await expectAccessible(page);

    await page.getByRole('link', { name: 'Open' }).click();
    await heading(page, 'Another application with the same people');
    await expectAccessible(page);
    await click(page, 'Sign in or sign up');
    await page.getByRole('button', { name: 'Continue as' }).click();
    await heading(page, 'Hello, Lin Chen');
    await page.getByText('Passkey', { exact: true }).waitFor();

    await page.getByRole('link', { name: 'Manage' }).click();
    await click(page, 'Sign in');
    await page.getByRole('button', { name: 'Continue as' }).click();
    await heading(page, 'Lin Chen');
    const sessions = page.getByRole('region', { name: 'Where you are signed in' });
    for (const name of ['Demo', 'Café']) await sessions.getByText(name, { exact: true }).first().waitFor();
    // A continued sign-in is good for a look alone. The browser suggests the passkey by itself.
    await click(page, 'Sign in again');
    await page.getByRole('button', { name: 'Sign in again' }).waitFor({ state: 'detached' });
    await heading(page, 'Lin Chen');
    await click(page, 'Sign out everywhere');
    await page.getByText('You are signed out everywhere.').waitFor();
    for (const path of ['/demo', '/demo/cafe']) {
      // Replies to session checks may be five seconds old.
      await expect.poll(() => readHeading(page, path), { timeout: 60_000 }).not.toContain('Lin Chen');
    }
    expect(problems).toEqual([]);
  });

  it('a person with a new wallet signs up with it, and then signs in with it alone', async () => {
    await using context = await chrome.newContext();
    const problems = collectProblems(context);
    const wallet = new Wallet();
    await context.exposeFunction('askWallet', (method: string, [hex = '']: string[]) =>
      method === 'personal_sign' ? wallet.sign(Buffer.from(hex.slice(2), 'hex').toString()) : [wallet.checksumAddress],
    );
    await context.addInitScript(
      'window.ethereum = { request: ({ method, params = [] }) => window.askWallet(method, params) }',
    );
    const page = await context.newPage();
    const beginWithWallet = async () => {
      await page.goto(`${demo.service.url}/demo/login`);
      await click(page, 'Continue with a wallet');
    };
    await beginWithWallet();
    await heading(page, 'Your wallet is new here');
    await expectAccessible(page);
    await typeEmail(page, 'alan@example.com');
    await page.getByLabel('Your name').fill('Alan Turing');
    await click(page, 'Sign up');
    await heading(page, 'Hello, Alan Turing');
    await page.getByText(wallet.address).waitFor();
    await click(page, 'Sign out');
    await heading(page, HOME);
    demo.clock.advance(1);
    await beginWithWallet();
    await heading(page, 'Hello, Alan Turing');
    expect(problems).toEqual([]);
  });
});
