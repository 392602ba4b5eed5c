/** Tests the route handlers of this folder with the real Usher, and without Next.js: they take a Request. */
import { startUsher } from 'usher-testing';
import { afterAll, expect, test, vi } from 'vitest';
import { CookieBrowser } from '../testing/browser.ts';

const APP_URL = 'http://127.0.0.1:3000';
const usher = await startUsher();
const shop = await usher.createApplication({ redirectUris: ['http://127.0.0.1/callback'] });
const env = { APP_URL, USHER_URL: usher.url, CLIENT_ID: shop.clientId, API_KEY: shop.apiKey };
for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
// The handlers run in this process: their time moves with that of Usher.
usher.clock.follow(vi);
const handlers = await import('./sessions.ts');

afterAll(() => usher[Symbol.asyncDispose]());

class AppBrowser extends CookieBrowser {
  /** Opens the page of a handler. */
  async visit(handle: (request: Request) => Promise<Response>, url: string): Promise<Response> {
    const { cookie } = this;
    return this.keep(await handle(new Request(new URL(url, APP_URL), { headers: { cookie } })));
  }
}

/** Signs the user in, in a new browser that wants to see `/me`. */
async function signIn(email: string): Promise<AppBrowser> {
  const browser = new AppBrowser();
  expect((await browser.visit(handlers.me, '/me')).headers.get('location')).toBe(`${APP_URL}/login?returnTo=/me`);
  const login = await browser.visit(handlers.login, '/login?returnTo=/me');
  const { redirectUrl } = await usher.signIn(login.headers.get('location') ?? '', email);
  expect((await browser.visit(handlers.callback, redirectUrl)).headers.get('location')).toBe('/me');
  return browser;
}

test('Ada signs in and sees the page that she wanted, until she signs out', async () => {
  const browser = await signIn('ada@example.com');
  expect(await (await browser.visit(handlers.me, '/me')).json()).toBe('ada@example.com');
  await browser.visit(handlers.logout, '/logout');
  expect((await browser.visit(handlers.me, '/me')).status).toBe(303);
});

test('whoever uses the page stays signed in, and not after 16 idle minutes', async () => {
  const browser = await signIn('ada@example.com');
  for (const duration of ['10m', '10m', '10m'] as const) {
    await usher.clock.advance(duration);
    expect((await browser.visit(handlers.me, '/me')).status).toBe(200);
  }
  await usher.clock.advance('16m');
  expect((await browser.visit(handlers.me, '/me')).status).toBe(303);
});

test('a user whom the operator deactivates is signed out', async () => {
  const user = await usher.createUser({ email: 'bob@example.com' });
  const browser = await signIn('bob@example.com');
  await usher.admin.deactivateUser({ userId: user.id });
  await usher.clock.advance('5s');
  expect((await browser.visit(handlers.me, '/me')).status).toBe(303);
});
