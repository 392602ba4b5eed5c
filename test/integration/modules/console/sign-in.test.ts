/** Signing in to the console, and staying signed in. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createConsoleLink } from '../../../../src/modules/console/create-console-link.ts';
import { ConsoleBrowser, ConsoleFixture, OPERATORS } from '../../../support/console-fixture.ts';
import { createDirectory } from '../../../support/directory.ts';
import { FOREIGN_PATHS } from '../../../support/foreign-paths.ts';
import { LoginBrowser } from '../../../support/login-browser.ts';
import { RecordedLog } from '../../../support/recorded-log.ts';
import { adminClient, createTestUser, PUBLIC_URL } from '../../../support/service.ts';

const MINUTE_MS = 60_000;

let fixture: ConsoleFixture;

const log = new RecordedLog();

beforeAll(async () => {
  fixture = await ConsoleFixture.open({ logger: log.logger });
});

afterAll(() => fixture.close());

describe('a link of the server', () => {
  test('signs an operator in, who has no user before', async () => {
    const browser = await fixture.signIn(OPERATORS.admin);
    expect(await browser.open('/users')).toMatchObject({ status: 200, heading: 'Users' });
    const { users } = await adminClient(fixture.service).listUsers({ email: OPERATORS.admin });
    expect(users).toHaveLength(1);
  });

  test('works once', async () => {
    const link = fixture.createLink(OPERATORS.admin);
    expect(await new ConsoleBrowser(fixture.url).useLink(link)).toMatchObject({ status: 303, location: '/' });
    expect(await new ConsoleBrowser(fixture.url).useLink(link)).toMatchObject({
      status: 403,
      heading: 'This link cannot be used',
      cookies: [],
    });
  });

  test('works once for twenty who use it at the same time', async () => {
    const link = fixture.createLink(OPERATORS.admin);
    const replies = await Promise.all(Array.from({ length: 20 }, () => new ConsoleBrowser(fixture.url).useLink(link)));
    expect(replies.filter(({ location }) => location === '/')).toHaveLength(1);
  });

  test('is not used up by a scanner that opens it', async () => {
    const link = fixture.createLink(OPERATORS.support);
    const scanner = new ConsoleBrowser(fixture.url);
    const page = await scanner.open(link.slice(fixture.url.length));
    expect(page).toMatchObject({ status: 200, heading: 'Sign in to the console', cookies: [] });
    expect(page.text).toContain(`As ${OPERATORS.support}.`);
    expect((await scanner.open('/users')).status).toBe(303);
    expect((await new ConsoleBrowser(fixture.url).useLink(link)).location).toBe('/');
  });

  test('signs nobody in by a form of another site', async () => {
    const token = new URL(fixture.createLink(OPERATORS.support)).searchParams.get('link') ?? '';
    const victim = new ConsoleBrowser(fixture.url);
    for (const site of ['cross-site', 'same-site', 'none']) {
      const reply = await victim.post('/callback', { link: token }, { 'sec-fetch-site': site });
      expect(reply).toMatchObject({ status: 403, cookies: [] });
    }
  });

  test.each([
    [undefined, 'npm run console needs an e-mail address: an operator is vera@example.com'],
    ['eve@example.com', 'eve@example.com is not in OPERATORS_FILE: an operator is vera@example.com'],
  ])('is printed for nobody else: %s', async (email, message) => {
    await expect(createConsoleLink(fixture.service.config, email)).rejects.toThrow(message);
  });

  test.each(['consolePort', 'operators'])('is not printed where there is no console: without %s', async (setting) => {
    const config = { ...fixture.service.config, [setting]: undefined };
    const link = createConsoleLink(config, OPERATORS.admin);
    await expect(link).rejects.toThrow('There is no console without CONSOLE_PORT and OPERATORS_FILE');
  });

  test('is printed without an address on the embedded Postgres, for the first admin and where the console is', async () => {
    const dataDir = await createDirectory();
    const config = { ...fixture.service.config, databaseUrl: undefined, consoleUrl: undefined, dataDir };
    await writeFile(join(dataDir, 'console-url'), 'http://localhost:18');
    const output = await createConsoleLink(config, undefined);
    expect(output).toMatch(/^http:\/\/localhost:18\/callback\?link=\S+\n/);
    expect(output).toContain(`signs ${OPERATORS.admin} in as admin.`);
  });

  test('names the command that prints a new one once it is used', async () => {
    const link = fixture.createLink(OPERATORS.admin);
    await new ConsoleBrowser(fixture.url).useLink(link);
    const { text } = await new ConsoleBrowser(fixture.url).useLink(link);
    expect(text).toContain(`npm run console ${OPERATORS.admin} prints a new one.`);
  });

  test('works for 15 minutes', async () => {
    const link = fixture.createLink(OPERATORS.admin);
    fixture.clock.advance(15 * MINUTE_MS);
    expect((await new ConsoleBrowser(fixture.url).useLink(link)).status).toBe(403);
  });

  test.each([
    ['that is altered', (token: string) => `${token.startsWith('A') ? 'B' : 'A'}${token.slice(1)}`],
    ['that is empty', () => ''],
    ['with more behind it', (token: string) => `${token}A`],
  ])('is refused %s', async (_, alter) => {
    const [path = '', token = ''] = fixture.createLink(OPERATORS.admin).slice(fixture.url.length).split('link=');
    const browser = new ConsoleBrowser(fixture.url);
    expect(await browser.open(`${path}link=${alter(token)}`)).toMatchObject({ status: 403, cookies: [] });
    expect(await browser.post('/callback', { link: alter(token) })).toMatchObject({ status: 403, cookies: [] });
  });

  test('is of no use to somebody who is no operator any more', async () => {
    const browser = new ConsoleBrowser(fixture.url);
    const reply = await browser.useLink(fixture.createLink('eve@example.com'));
    expect(reply).toMatchObject({ status: 403, heading: 'You cannot use the console' });
    expect((await browser.open('/users')).status).toBe(303);
  });
});

/** Signs in on the login page with a code of eight digits. */
async function signInByCode(browser: ConsoleBrowser, path: string, email: string) {
  fixture.clock.advance(1);
  const begun = await browser.open(path);
  const { pathname, search } = new URL(begun.location ?? '');
  const login = new LoginBrowser(fixture.service);
  const page = await login.open(pathname + search);
  const codePage = await login.submit(page, '/login/email', { email });
  const code = fixture.mailbox.codeFor(email);
  const done = await login.submit(codePage, '/login/code', { code });
  return { code, callback: new URL(done.location ?? '') };
}

describe('the login page', () => {
  test('signs an operator in with a code of eight digits, and leads to the page that was asked for', async () => {
    await fixture.signIn(OPERATORS.support);
    const browser = new ConsoleBrowser(fixture.url);
    const { location } = await browser.open('/users?email=a%40b');
    const { code, callback } = await signInByCode(browser, location ?? '', OPERATORS.support);
    expect(code).toMatch(/^\d{8}$/);
    expect(callback.origin + callback.pathname).toBe(`${fixture.url}/callback`);
    const reply = await browser.open(callback.pathname + callback.search);
    expect(reply).toMatchObject({ status: 303, location: '/users?email=a%40b' });
    expect((await browser.open('/users')).heading).toBe('Users');
  });

  test('signs nobody in who began the login in another browser, and no answer counts twice', async () => {
    const browser = new ConsoleBrowser(fixture.url);
    const { callback } = await signInByCode(browser, '/login', OPERATORS.support);
    const path = callback.pathname + callback.search;
    const victim = new ConsoleBrowser(fixture.url);
    expect(await victim.open(path)).toMatchObject({ status: 400, cookies: [] });
    await victim.open('/login');
    expect((await victim.open(path)).status).toBe(400);
    expect((await victim.open('/users')).status).toBe(303);
    expect((await browser.open(path)).location).toBe('/');
    expect((await browser.open(path)).status).toBe(400);
  });

  test('signs in two tabs at a time, each to its own page, and remembers three', async () => {
    const browser = new ConsoleBrowser(fixture.url);
    const paths = ['/users', '/audit?actor=a', '/health', '/applications'];
    const callbacks: string[] = [];
    await fixture.signIn(OPERATORS.viewer);
    for (const to of paths) {
      const { callback } = await signInByCode(browser, `/login?${new URLSearchParams({ to })}`, OPERATORS.viewer);
      callbacks.push(callback.pathname + callback.search);
      fixture.clock.advance(MINUTE_MS);
    }
    const locations: unknown[] = [];
    for (const path of callbacks) locations.push((await browser.open(path)).location);
    expect(locations).toEqual([undefined, ...paths.slice(1)]);
    expect(browser.cookies.has('usher-console-login')).toBe(false);
  });

  test.each([
    ['with a query that fits into a cookie', '/users?page='.padEnd(600, 'x'), 600],
    ['whose query is too long for a cookie, without it', '/users?page='.padEnd(601, 'x'), '/users'.length],
    ['whose query is much too long, without it', '/users?page='.padEnd(3_000, 'x'), '/users'.length],
    ['whose path is too long, by the overview', '/users/'.padEnd(601, 'x'), 1],
  ])('leads back to a page %s', async (_, page, length) => {
    const browser = new ConsoleBrowser(fixture.url);
    await fixture.signIn(OPERATORS.admin);
    const { location = '' } = await browser.open(page);
    const { callback } = await signInByCode(browser, location, OPERATORS.admin);
    const ofTabs = ['/audit', '/health'].map((path) => browser.open(`/login?to=${path}?${'y'.repeat(590)}`));
    for (const { cookies } of await Promise.all(ofTabs)) expect(cookies[0]?.length).toBeLessThan(4_096);
    expect((await browser.open(callback.pathname + callback.search)).location).toBe(page.slice(0, length));
  });

  test('leads somebody who cancels to a new sign-in', async () => {
    const browser = new ConsoleBrowser(fixture.url);
    const { location = '' } = await browser.open('/login');
    const [login] = await fixture.service.database.sql`
      select state from login_intents where id = ${new URL(location).searchParams.get('intent')}`;
    const answer = { state: login?.state, iss: PUBLIC_URL, error: 'access_denied' };
    const reply = await browser.open(`/callback?${new URLSearchParams(answer)}`);
    expect(reply).toMatchObject({ status: 200, heading: 'You are not signed in' });
    expect(reply.body).toContain('href="/login"');
  });

  test.each(FOREIGN_PATHS.slice(0, 8))('leads to the console, although the page to return to is %j', async (to) => {
    const browser = new ConsoleBrowser(fixture.url);
    await fixture.signIn(OPERATORS.viewer);
    fixture.clock.advance(30 * MINUTE_MS);
    const { callback } = await signInByCode(browser, `/login?${new URLSearchParams({ to })}`, OPERATORS.viewer);
    expect((await browser.open(callback.pathname + callback.search)).location).toBe('/');
  });

  test('signs nobody in with the answer of another issuer', async () => {
    await fixture.signIn(OPERATORS.support);
    const browser = new ConsoleBrowser(fixture.url);
    const { callback } = await signInByCode(browser, '/login', OPERATORS.support);
    callback.searchParams.set('iss', 'https://evil.test');
    expect(await browser.open(callback.pathname + callback.search)).toMatchObject({ status: 400 });
    expect((await browser.open('/users')).status).toBe(303);
  });

  test('signs nobody in who signs in on behalf of an operator', async () => {
    await fixture.signIn(OPERATORS.admin);
    const admin = adminClient(fixture.service);
    const [operator] = (await admin.listUsers({ email: OPERATORS.admin })).users;
    const browser = new ConsoleBrowser(fixture.url);
    const { location } = await browser.open('/login');
    const loginIntentId = new URL(location ?? '').searchParams.get('intent') ?? '';
    const login = { loginIntentId, userId: operator?.id ?? '', onBehalfBy: 'Zoë' };
    const { pathname, search } = new URL((await admin.completeLogin(login)).redirectUrl);
    expect(await browser.open(pathname + search)).toMatchObject({ status: 403, heading: 'You cannot use the console' });
    expect((await browser.open('/users')).status).toBe(303);
  });

  test('tells somebody who is no operator, who gets no session', async () => {
    const user = await createTestUser(fixture.service);
    const browser = new ConsoleBrowser(fixture.url);
    const { callback } = await signInByCode(browser, '/login', user.email);
    const reply = await browser.open(callback.pathname + callback.search);
    expect(reply).toMatchObject({ status: 403, heading: 'You cannot use the console' });
    expect(browser.cookies.has('usher-console')).toBe(false);
    const [{ count } = { count: -1 }] = await fixture.service.database.sql<{ count: number }[]>`
      select count(*)::int as count from sessions where user_id = ${user.id}`;
    expect(count).toBe(0);
  });

  test.each(['//evil.test', '/\\evil.test', 'https://evil.test/', '/\t/evil.test', 'javascript:alert(1)'])(
    'leads to the console only, not to %s',
    async (to) => {
      const browser = new ConsoleBrowser(fixture.url);
      const { callback } = await signInByCode(browser, `/login?${new URLSearchParams({ to })}`, OPERATORS.support);
      const { location = '' } = await browser.open(callback.pathname + callback.search);
      expect(new URL(location, fixture.url).origin).toBe(fixture.url);
      expect(location).toMatch(/^\/(?![/\\])/);
    },
  );
});

describe('the session', () => {
  test('is renewed by use, for eight hours at most', async () => {
    const browser = await fixture.signIn(OPERATORS.viewer);
    const first = browser.cookies.get('usher-console');
    for (let minutes = 0; minutes < 8 * 60 - 10; minutes += 10) {
      expect((await browser.open('/users')).status).toBe(200);
      fixture.clock.advance(10 * MINUTE_MS);
    }
    expect(browser.cookies.get('usher-console')).not.toBe(first);
    fixture.clock.advance(10 * MINUTE_MS);
    expect((await browser.open('/users')).location).toBe('/login?to=%2Fusers');
  });

  test('ends after 15 minutes without use', async () => {
    const browser = await fixture.signIn(OPERATORS.viewer);
    fixture.clock.advance(15 * MINUTE_MS);
    expect((await browser.open('/users')).status).toBe(303);
  });

  test('ends in every browser when the operator signs out', async () => {
    const browser = await fixture.signIn(OPERATORS.viewer);
    const other = await fixture.signIn(OPERATORS.viewer);
    const page = await browser.open('/users');
    // The console remembers who has just opened a page.
    expect((await other.open('/users')).status).toBe(200);
    expect((await browser.submit(page, '/sign-out')).heading).toBe('You are signed out');
    expect(browser.cookies.has('usher-console')).toBe(false);
    expect((await other.open('/users')).status).toBe(303);
  });

  test('ends with the user, at once for changes', async () => {
    const browser = await fixture.signIn(OPERATORS.support);
    const target = await createTestUser(fixture.service);
    const { users } = await adminClient(fixture.service).listUsers({ email: OPERATORS.support });
    await adminClient(fixture.service).deactivateUser({ userId: users[0]?.id ?? '' });
    const reply = await browser.post(`/users/${target.id}/deactivate`);
    expect(reply.location).toMatch(/^\/login/);
    await adminClient(fixture.service).reactivateUser({ userId: users[0]?.id ?? '' });
  });

  test('that was ended elsewhere makes no change, even a moment after it has shown a page', async () => {
    const browser = await fixture.signIn(OPERATORS.support);
    const target = await createTestUser(fixture.service);
    expect((await browser.open('/users')).status).toBe(200);
    await fixture.service.database.sql`delete from sessions where email = ${OPERATORS.support}`;
    expect((await browser.post(`/users/${target.id}/deactivate`)).location).toMatch(/^\/login/);
  });

  test('of somebody whose line is gone from the file is worth nothing', async () => {
    const browser = await fixture.signIn(OPERATORS.viewer);
    const text = await readFile(fixture.operatorsFile, 'utf8');
    await writeFile(fixture.operatorsFile, text.replace(/^vera.*\n/m, ''));
    await expect.poll(async () => (await browser.open('/users')).status, { timeout: 30_000 }).toBe(403);
    await writeFile(fixture.operatorsFile, text);
    await expect.poll(async () => (await browser.open('/users')).status, { timeout: 30_000 }).toBe(200);
  });

  test('keeps its operators while the file has a wrong line', async () => {
    const browser = await fixture.signIn(OPERATORS.viewer);
    const text = await readFile(fixture.operatorsFile, 'utf8');
    await writeFile(fixture.operatorsFile, `${text.replace(/^vera.*\n/m, '')}nonsense\n`);
    const other = `${text.replace(/^vera.*\n/m, '')}`;
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect((await browser.open('/users')).status).toBe(200);
    await expect
      .poll(async () => (await browser.open('/health')).text, { timeout: 30_000 })
      .toContain('Operators3 Outdated: OPERATORS_FILE could not be read');
    const line = log.parsed.find(({ msg }) => msg === 'operators not read');
    expect(JSON.stringify(line?.err)).toContain('line 3 must be an e-mail address');
    await writeFile(fixture.operatorsFile, other);
    await expect.poll(async () => (await browser.open('/users')).status, { timeout: 30_000 }).toBe(403);
    await writeFile(fixture.operatorsFile, text);
    const reader = await fixture.signIn(OPERATORS.support);
    expect((await reader.open('/health')).text).not.toContain('OPERATORS_FILE');
  });
});
