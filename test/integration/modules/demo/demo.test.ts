import { randomUUID } from 'node:crypto';
import { readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { SESSION_IDLE_SECONDS } from '../../../../src/modules/demo/demo.ts';
import type { UsherServer } from '../../../../src/server.ts';
import { MINUTE } from '../../../support/clock.ts';
import { demoOf, openDemoFixture } from '../../../support/demo-fixture.ts';
import { LoginBrowser, type LoginPage, textOf } from '../../../support/login-browser.ts';
import { adminClient, startTestService } from '../../../support/service.ts';

const fixture = await openDemoFixture();
const { clock, mailbox, service } = fixture;
const HOME = 'An application that has no passwords';
const url = service.url.replace('localhost', '127.0.0.1');
afterAll(() => fixture[Symbol.asyncDispose]());

describe('the demo application', () => {
  const openDemoPage = async (browser = new LoginBrowser({ url })) => ({
    browser,
    page: await browser.open('/demo'),
  });

  /** Goes to the login page as the demo application does. */
  async function beginLogin(browser = new LoginBrowser({ url })) {
    const { page: home } = await openDemoPage(browser);
    const { location = '', status } = await browser.submit(home, '/demo/login');
    expect(status).toBe(303);
    const { pathname, search } = new URL(location);
    const page = await browser.open(pathname + search);
    expect(page.heading).toBe('Sign in or sign up to Demo');
    return { browser, page };
  }

  /** Follows the redirect to the demo application. */
  async function follow(browser: LoginBrowser, { status, location = '' }: LoginPage): Promise<LoginPage> {
    expect(status).toBe(303);
    const { origin, pathname, search } = new URL(location);
    expect(origin + pathname).toBe(demoOf(service).redirectUri);
    return browser.open(pathname + search);
  }

  async function signIn(email: string) {
    const { browser, page } = await beginLogin();
    const codePage = await browser.submit(page, '/login/email', { email });
    const reply = await browser.submit(codePage, '/login/code', { code: mailbox.codeFor(email) });
    return { browser, page: await follow(browser, reply) };
  }

  const renewButtonOf = ({ body }: LoginPage) => /<button[^>]*>Renew</.exec(body)?.[0];

  const stateOf = async (start: LoginPage) => new URL(start.location ?? '').searchParams.get('state') ?? '';

  it.each(['', 'x', 'x.y', '<script>alert(1)</script>', 'é'.repeat(36)])(
    'refuses the state %j, which it has not issued',
    async (state) => {
      const answer = new URLSearchParams({ authToken: 'x', state });
      const page = await new LoginBrowser({ url }).open(`/demo/callback?${answer}`);
      expect(page).toMatchObject({ status: 200, heading: 'This login is not ours' });
      expect(page.body).not.toMatch(/alert\(1\)<\/script>/);
    },
  );

  it('accepts the state of every login that it has begun, and of the one in the examples of the API reference', async () => {
    const values = await (await fetch(`${url}/docs/examples`, { method: 'POST' })).text();
    const [, printed = ''] = /export STATE='([^']+)'/.exec(values) ?? [];
    const begun = await Promise.all([1, 2].map(() => beginLogin()));
    const cancelled = await Promise.all(
      begun.map(async ({ browser, page }) => stateOf(await browser.submit(page, '/login/cancel'))),
    );
    expect(new Set([printed, ...cancelled]).size).toBe(3);
    for (const state of [printed, ...cancelled]) {
      const answer = new URLSearchParams({ error: 'access_denied', state });
      const page = await new LoginBrowser({ url }).open(`/demo/callback?${answer}`);
      expect(page.heading).toBe('You cancelled');
    }
  });

  it('is one place for a browser at localhost and for one at 127.0.0.1: the sign-in returns there', async () => {
    const { homeUrl, redirectUri } = demoOf(service);
    expect(redirectUri).toBe(`${homeUrl}/callback`);
    const atLocalhost = url.replace('127.0.0.1', 'localhost');
    for (const path of ['/demo', '/demo/cafe']) {
      const { headers, status } = await fetch(atLocalhost + path, { redirect: 'manual' });
      expect({ status, location: headers.get('location') }).toEqual({ status: 303, location: url + path });
    }
  });

  it('says what will happen, with links to the calls, before a person signs in', async () => {
    const { page } = await openDemoPage();
    expect([...page.body.matchAll(/<li><h3>([^<]*)/g)].map(([, title]) => title)).toEqual([
      'You go to Usher',
      'You sign in there',
      'You come back',
    ]);
    const links = [...page.body.matchAll(/href="(\/docs\/[^"]+)#([^"]+)"/g)];
    expect(links.map(([, , anchor]) => anchor)).toContain('AuthService.ExchangeToken');
    for (const [, path, anchor] of links) expect(await (await fetch(url + path)).text()).toContain(`id="${anchor}"`);
  });

  it('shows the profile of a person who signs in, and says so if the token does not work', async () => {
    const { email } = demoOf(service);
    const { page } = await signIn(email);
    expect(page).toMatchObject({ status: 200, heading: 'Hello, Ada Lovelace' });
    expect(textOf(page.body)).toContain(`E-mail address${email}`);
    expect(page.headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'");
    const { browser, page: login } = await beginLogin();
    const state = await stateOf(await browser.submit(login, '/login/cancel'));
    const broken = await browser.open(`/demo/callback?${new URLSearchParams({ state, authToken: 'x' })}`);
    expect(broken.heading).toBe('The exchange failed');
    expect(textOf(broken.body)).toContain('Invalid or expired token');
  });

  it('lets a person sign up, renew the session and sign out, which ends the session', async () => {
    const email = 'grace@example.com';
    const { browser, page: loginPage } = await beginLogin();
    const codePage = await browser.submit(loginPage, '/login/email', { email });
    const namePage = await browser.submit(codePage, '/login/code', { code: mailbox.codeFor(email) });
    const reply = await browser.submit(namePage, '/login/name', { name: 'Grace Hopper' });
    const page = await follow(browser, reply);
    expect(page.heading).toBe('Hello, Grace Hopper');
    expect(renewButtonOf(page)).toContain('disabled');
    clock.advance(8 * MINUTE);
    expect(renewButtonOf((await openDemoPage(browser)).page)).not.toContain('disabled');
    expect((await browser.submit(page, '/demo/renew')).heading).toBe('Hello, Grace Hopper');
    const { cookie } = browser;
    expect((await browser.submit(page, '/demo/sign-out')).heading).toBe(HOME);
    browser.cookie = cookie;
    expect((await openDemoPage(browser)).page.heading).toBe(HOME);
  });

  it('signs a person in to its second application by one click', async () => {
    const { email } = demoOf(service);
    const { browser } = await signIn(email);
    const cafe = await browser.open('/demo/cafe');
    expect(cafe.heading).toBe('Another application with the same people');
    const { location = '' } = await browser.submit(cafe, '/demo/cafe/login');
    const { pathname, search } = new URL(location);
    const answer = await browser.submit(await browser.open(pathname + search), '/login/continue');
    const callback = new URL(answer.location ?? '');
    expect(callback.pathname).toBe('/demo/cafe/callback');
    expect((await browser.open(callback.pathname + callback.search)).heading).toBe('Hello, Ada Lovelace');
    const { page } = await openDemoPage(browser);
    await browser.submit(page, '/demo/sign-out');
    expect((await openDemoPage(browser)).page.heading).toBe(HOME);
    expect((await browser.open('/demo/cafe')).heading).toBe('Hello, Ada Lovelace');
  });

  it('keeps a person signed in who comes back within a week, and no later', async () => {
    const { email } = demoOf(service);
    clock.advance(1);
    const { browser } = await signIn(email);
    clock.advance(900_000 + SESSION_IDLE_SECONDS * 1_000 - 1_000);
    expect((await openDemoPage(browser)).page.heading).toBe('Hello, Ada Lovelace');
    clock.advance(900_000 + SESSION_IDLE_SECONDS * 1_000);
    expect((await openDemoPage(browser)).page.heading).toBe(HOME);
  });

  it('links to the account page', async () => {
    const { email } = demoOf(service);
    clock.advance(1);
    const { page } = await signIn(email);
    expect(page.body).toContain(`href="${demoOf(service).accountUrl}"`);
    const { pathname } = new URL(demoOf(service).accountUrl ?? '');
    expect((await new LoginBrowser({ url }).open(pathname)).heading).toBe('Your account');
  });

  it('refuses a message that Usher has not signed', async () => {
    const forged = { 'webhook-id': 'msg_1', 'webhook-timestamp': '1', 'webhook-signature': 'v1,AAAA' };
    const replies = [{}, forged].map((headers) => fetch(`${url}/demo/hooks`, { method: 'POST', headers, body: '{}' }));
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([401, 401]);
  });

  it('is on the home page, with the console only for those on this machine', async () => {
    const titles = async (headers: Record<string, string>) =>
      [...(await (await fetch(url, { headers })).text()).matchAll(/<strong>([^<]*)/g)].map(([, title]) => title);
    const doors = ['API reference', 'Demo application', 'Your account'];
    expect(await titles({})).toEqual([...doors, 'Console']);
    expect(await titles({ 'x-forwarded-for': '192.0.2.1' })).toEqual(doors);
  });

  it('lets a person who tries it sign in many times an hour', async () => {
    const { email } = demoOf(service);
    for (let count = 0; count < 12; count++) {
      const { browser, page } = await beginLogin();
      expect(await browser.submit(page, '/login/email', { email })).toMatchObject({ heading: 'Check your e-mail' });
    }
  });
});

it('an external database has no demo application', async () => {
  await using service = await startTestService();
  const { status, body } = await new LoginBrowser(service).open('/demo');
  expect({ status, reply: JSON.parse(body) }).toEqual({
    status: 404,
    reply: { status: false, message: 'Not found', reason: 'NOT_FOUND' },
  });
});

it('the demo names the ways to sign in that there are', async () => {
  const readSteps = async (site: { service: { url: string } }) =>
    textOf((await (await fetch(`${site.service.url}/demo`)).text()) ?? '');
  expect(await readSteps(fixture)).toMatch(/With a wallet, a code by e-mail or a passkey\..*Save a passkey/s);
  await using byCode = await openDemoFixture(['email']);
  const text = await readSteps(byCode);
  expect(text).toContain('With a code by e-mail.');
  expect(text).not.toMatch(/passkey|wallet/);
});

it('the first lines in the terminal say as whom to sign in, if that shows the code', async () => {
  const textOfGreeting = ({ service }: { service: Pick<UsherServer, 'modules'> }) =>
    service.modules.greetings.find(({ title }) => title === 'Demo')?.text;
  const { email, homeUrl } = demoOf(service);
  expect(textOfGreeting(fixture)).toBe(`${homeUrl}    sign in as ${email}, the code appears here`);
  await using byPasskey = await openDemoFixture(['passkey']);
  expect(textOfGreeting(byPasskey)).toBe('');
});

it('examples find an application that invites people and has a feed, and events', async () => {
  const { sql } = fixture.database;
  const values = await (await fetch(`${url}/docs/examples`, { method: 'POST' })).text();
  const ids = ['EVENT_ID', 'OTHER_EVENT_ID'].map(
    (name) => new RegExp(`export ${name}='([^']+)'`).exec(values)?.[1] ?? '',
  );
  expect(await sql`select id from events where id in ${sql(ids)}`).toHaveLength(2);
  const { applicationId } = demoOf(service);
  expect(await sql`select allow_invitations, message_feed from applications where id = ${applicationId}`).toEqual([
    { allow_invitations: true, message_feed: true },
  ]);
});

it('the API reference needs no user of the demo, and writes nothing into the audit log until examples are asked for', async () => {
  await using erased = await openDemoFixture();
  const { service: server, database } = erased;
  const countEvents = async () => (await database.sql`select from audit_events`).length;
  await adminClient(server).eraseUser({ userId: demoOf(server).userId });
  const before = await countEvents();
  const page = await fetch(`${server.url}/docs`);
  expect({ status: page.status, text: await page.text() }).toMatchObject({
    status: 200,
    text: expect.stringContaining('eval '),
  });
  expect(await countEvents()).toBe(before);
  expect((await fetch(`${server.url}/docs/examples`, { method: 'POST' })).status).toBe(200);
  expect(await countEvents()).toBeGreaterThan(before);
});

const OF_ANOTHER_DATABASE = JSON.stringify({ applicationId: randomUUID(), userId: randomUUID(), redirectUris: [] });

it.each<[string, (file: string) => Promise<void>]>([
  ['works if its file is of a version without a second application', dropCafe],
  ['is created again if its file was truncated', (file) => truncate(file, 20)],
  ['is created again if its file is of another database', (file) => writeFile(file, OF_ANOTHER_DATABASE)],
])('at the next start, the demo %s', async (_, spoil) => {
  await using spoiled = await openDemoFixture();
  await spoil(join(spoiled.dataDir, 'demo.json'));
  const again = await spoiled.startAgain();
  const browser = new LoginBrowser({ url: again.url.replace('localhost', '127.0.0.1') });
  const follow = ({ location = '' }: LoginPage) => {
    const { pathname, search } = new URL(location);
    return browser.open(pathname + search);
  };
  const { email } = demoOf(again);
  const page = await follow(await browser.submit(await browser.open('/demo'), '/demo/login'));
  const codePage = await browser.submit(page, '/login/email', { email });
  const home = await follow(await browser.submit(codePage, '/login/code', { code: spoiled.mailbox.codeFor(email) }));
  expect(home.heading).toBe('Hello, Ada Lovelace');
  const offer = await follow(await browser.submit(await browser.open('/demo/cafe'), '/demo/cafe/login'));
  expect(offer.body).toContain('action="/login/continue"');
});

async function dropCafe(file: string): Promise<void> {
  const { cafe, ...others } = JSON.parse(await readFile(file, 'utf8'));
  expect(cafe.applicationName).toBe('Café');
  await writeFile(file, JSON.stringify(others));
}
