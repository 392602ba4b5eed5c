/** Tests the application of this folder with the real Usher. Nothing waits for time to pass. */
import { startUsher } from 'usher-testing';
import { afterAll, expect, test, vi } from 'vitest';
import { CookieBrowser, findFreePort } from '../testing/browser.ts';

const usher = await startUsher();
const shop = await usher.createApplication({ redirectUris: ['http://127.0.0.1/callback'] });
const PORT = await findFreePort();
const url = `http://127.0.0.1:${PORT}`;
const env = { PORT, USHER_URL: usher.url, CLIENT_ID: shop.clientId, API_KEY: shop.apiKey };
for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
// The application runs in this process: its time moves with that of Usher.
usher.clock.follow(vi);
const { server } = await import('./app.ts');

afterAll(async () => {
  server.close();
  await usher[Symbol.asyncDispose]();
});

/** Signs the user in to the shop, in a new browser. */
async function signIn(email = 'ada@example.com'): Promise<CookieBrowser> {
  const browser = new CookieBrowser();
  const { redirectUrl } = await usher.signIn(await browser.follow(`${url}/login`), email);
  await browser.open(redirectUrl);
  return browser;
}

test('Ada signs in, and out', async () => {
  const browser = await signIn();
  expect(await browser.read(url)).toContain('Signed in as ada@example.com');
  await browser.open(`${url}/logout`, 'POST');
  expect(await browser.read(url)).toContain('Sign in');
});

test('after 16 idle minutes she has to sign in again', async () => {
  const browser = await signIn();
  expect(await browser.read(url)).toContain('Signed in as ada@example.com');
  await usher.clock.advance('16m');
  expect(await browser.read(url)).toContain('Sign in');
});

test('to pay, she has to have signed in less than five minutes ago', async () => {
  const browser = await signIn();
  expect((await browser.open(`${url}/payment`)).status).toBe(200);
  await usher.clock.advance('6m');
  expect(await browser.follow(`${url}/payment`)).toContain(usher.url);
});

test('pages fail with 503 while Usher has no Postgres, and work again afterwards', async () => {
  const browser = await signIn();
  // Answers about sessions may be up to 5 s old.
  await usher.clock.advance('5s');
  const outage = await usher.outage('database');
  expect((await browser.open(url)).status).toBe(503);
  await outage[Symbol.asyncDispose]();
  // The client package asks again after a second.
  await usher.clock.advance('1s');
  expect(await browser.read(url)).toContain('Signed in as ada@example.com');
});

test('a webhook is told who has signed in, although its server fails twice', async () => {
  const webhooks = await usher.receiveWebhooks(shop, ['session.created']);
  webhooks.fail(2, 500);
  await signIn('bob@example.com');
  await usher.clock.advance('1h');
  const { data } = await webhooks.next('session.created');
  const { users } = await usher.admin.listUsers({ email: 'bob@example.com' });
  expect(data).toMatchObject({ userId: users[0]?.id });
});
