/** Tests the application of this folder in a process of its own, with the real Usher. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { startUsher } from 'usher-testing';
import { afterAll, expect, test } from 'vitest';
import { CookieBrowser } from '../testing/browser.ts';

const usher = await startUsher();
const shop = await usher.createApplication({ redirectUris: ['http://127.0.0.1/callback'] });
const app = spawn(process.execPath, [`${import.meta.dirname}/app.ts`], {
  env: { ...process.env, PORT: '0', USHER_URL: usher.url, CLIENT_ID: shop.clientId, API_KEY: shop.apiKey },
  stdio: ['ignore', 'pipe', 'inherit'],
});
const [url] = await once(createInterface({ input: app.stdout }), 'line');

afterAll(async () => {
  app.kill();
  await usher[Symbol.asyncDispose]();
});

test('Ada signs in', async () => {
  const browser = new CookieBrowser();
  expect(await browser.read(url)).toContain('Sign in');
  const { redirectUrl } = await usher.signIn(await browser.follow(`${url}/login`), 'ada@example.com');
  expect(await browser.follow(redirectUrl)).toBe('/');
  expect(await browser.read(url)).toBe('Signed in as ada@example.com');
});

test('a link that completes the login of somebody else signs nobody in', async () => {
  const { redirectUrl } = await usher.signIn(await new CookieBrowser().follow(`${url}/login`), 'eve@example.com');
  const browser = new CookieBrowser();
  await browser.open(`${url}/login`);
  expect((await browser.open(redirectUrl)).status).toBe(400);
  expect((await browser.open(redirectUrl.replace(/([?&]state=)[^&]+/, '$1another'))).status).toBe(400);
  expect(await browser.read(url)).toContain('Sign in');
});

test('a login that takes longer than half an hour fails', async () => {
  const authUrl = await new CookieBrowser().follow(`${url}/login`);
  await usher.clock.advance('31m');
  await expect(usher.signIn(authUrl, 'ada@example.com')).rejects.toMatchObject({ reason: 'LOGIN_INTENT_EXPIRED' });
});
