/** Tests the page of this folder in Chromium, with the real Usher and its login page. */

import { type Browser, chromium, type Page } from 'playwright-core';
import { startUsher } from 'usher-testing';
import { createServer } from 'vite';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { findFreePort } from '../testing/browser.ts';

const stack = new AsyncDisposableStack();
const usher = stack.use(await startUsher({ env: { LOGIN_METHODS: 'email' } }));
const port = Number(await findFreePort());
const origin = `http://127.0.0.1:${port}`;
let browser: Browser;

beforeAll(async () => {
  const shop = await usher.createApplication({
    redirectUris: [`${origin}/callback`],
    postLogoutRedirectUris: [`${origin}/`],
    openIdConnect: true,
    publicClient: true,
  });
  vi.stubEnv('VITE_USHER_URL', usher.url);
  vi.stubEnv('VITE_CLIENT_ID', shop.clientId);
  const server = { host: '127.0.0.1', port, strictPort: true };
  const vite = await createServer({ root: import.meta.dirname, configFile: false, server, logLevel: 'error' });
  stack.defer(() => vite.close());
  await vite.listen();
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium' });
  stack.defer(() => browser.close());
});
afterAll(() => stack.disposeAsync());

const problems: Error[] = [];

/** Opens the page in a new browser, whose time is that of Usher. */
async function open(): Promise<Page> {
  const context = await browser.newContext();
  await context.clock.install({ time: usher.clock.now() });
  const page = await context.newPage();
  page.on('pageerror', (error) => problems.push(error));
  await page.goto(origin);
  return page;
}

/** Signs the user in, with the code of the e-mail. */
async function signIn(page: Page, email: string): Promise<void> {
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('#email').fill(email);
  await page.keyboard.press('Enter');
  await page.locator('#code').waitFor();
  const { code = '' } = await usher.nextMail(email);
  await page.locator('#code').fill(code);
  await page.keyboard.press('Enter');
}

test('Ada signs in, stays signed in, and signs out', async () => {
  const { id } = await usher.createUser({ email: 'ada@example.com' });
  const page = await open();
  await signIn(page, 'ada@example.com');
  const signedIn = page.getByText(`Signed in as ada@example.com (${id})`);
  await signedIn.waitFor();
  await page.reload();
  await signedIn.waitFor();

  // A minute before the tokens expire, and after a sleep in which they have.
  for (const duration of ['14m', '60m']) {
    const renewed = page.waitForResponse(`${usher.url}/oidc/token`);
    await usher.clock.advance(duration);
    await page.clock.fastForward(duration === '14m' ? '14:00' : '01:00:00');
    expect((await renewed).request().postData()).toContain('grant_type=refresh_token');
    expect((await renewed).status()).toBe(200);
    await signedIn.waitFor();
  }

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('Not signed in').waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  expect(problems).toEqual([]);
});

test('whoever was signed out by the operator meanwhile is signed out here, too', async () => {
  const page = await open();
  const { id } = await usher.createUser({ email: 'bob@example.com' });
  await signIn(page, 'bob@example.com');
  await page.getByText('Signed in as bob@example.com').waitFor();
  await usher.admin.deactivateUser({ userId: id });
  await usher.clock.advance('60m');
  await page.clock.fastForward('01:00:00');
  await page.getByText('Not signed in').waitFor();
});

test('an answer to no sign-in of the page signs nobody in', async () => {
  const page = await open();
  await page.goto(`${origin}/callback?code=stolen&state=of-another-page`);
  await page.getByText('Not signed in').waitFor();
  expect(page.url()).toBe(`${origin}/`);
});
