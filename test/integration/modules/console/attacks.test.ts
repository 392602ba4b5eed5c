/** What an outsider, a page on the same host, or an operator with a lesser role tries. */
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROUTES } from '../../../../src/modules/console/routes.ts';
import { ConsoleBrowser, ConsoleFixture, type ConsoleReply, OPERATORS } from '../../../support/console-fixture.ts';
import { type ConsoleSamples, createConsoleSamples, fillPath } from '../../../support/console-samples.ts';
import { request } from '../../../support/http.ts';
import { RecordedLog } from '../../../support/recorded-log.ts';
import { adminClient, clientsOf, createTenant, createTestUser } from '../../../support/service.ts';

const log = new RecordedLog();
let fixture: ConsoleFixture;
let samples: ConsoleSamples;

beforeAll(async () => {
  fixture = await ConsoleFixture.open({ logger: log.logger });
  samples = await createConsoleSamples(fixture);
});

afterAll(() => fixture.close());

const pathOf = (link: string) => link.slice(fixture.url.length);

describe('the headers of every page', () => {
  let browser: ConsoleBrowser;
  beforeAll(async () => {
    browser = await fixture.signIn(OPERATORS.admin);
  });

  test.each(ROUTES.filter(({ method }) => method === 'GET'))(
    '$path: no cache, no frame, no referrer',
    async (route) => {
      const { status, headers } = await browser.open(fillPath(route.path, samples.params));
      expect(headers['cache-control']).toBe('no-store');
      expect(headers['x-content-type-options']).toBe(status === 303 ? headers['x-content-type-options'] : 'nosniff');
      expect(headers['cross-origin-resource-policy']).toBe('same-origin');
      if (status === 303) return;
      const policy = headers['content-security-policy'] ?? '';
      expect(policy).toContain("default-src 'none'");
      if (headers['content-disposition']) return;
      expect(policy).toContain(route.path.endsWith('/preview') ? "frame-ancestors 'self'" : "frame-ancestors 'none'");
      expect(policy).toContain("base-uri 'none'");
      expect(headers['referrer-policy']).toBe('no-referrer');
    },
  );
});

describe('cookies', () => {
  test('over http are HttpOnly and Lax for every path of this host alone', async () => {
    const { cookies } = await new ConsoleBrowser(fixture.url).useLink(fixture.createLink(OPERATORS.viewer));
    expect(cookies).toEqual([
      expect.stringMatching(/^usher-console=[^;]+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax$/),
      expect.stringMatching(/^usher-console-sign-in=[^;]+; Max-Age=900; Path=\/; HttpOnly; SameSite=Lax$/),
    ]);
  });

  test('over https have the prefix that no other host and no page without TLS can set', async () => {
    await using secure = await ConsoleFixture.open({ config: { consoleUrl: 'https://console.test' } });
    const browser = new ConsoleBrowser(secure.url);
    const link = secure.createLink(OPERATORS.viewer);
    const { location, cookies } = await browser.useLink(link);
    expect(location).toBe('/');
    expect(cookies[0]).toMatch(/^__Host-usher-console=[^;]+; Max-Age=\d+; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
    const [sessionId = ''] = [...browser.cookies.values()];
    const planted = new ConsoleBrowser(secure.url);
    planted.cookies.set('usher-console', sessionId);
    expect((await planted.open('/users')).status).toBe(303);
  });

  test('planted before a sign-in are worth nothing after it', async () => {
    const browser = new ConsoleBrowser(fixture.url);
    const planted = '018f2c7e-5a31-7c1e-9a57-2f8b1d3c4e60';
    browser.cookies.set('usher-console', planted);
    expect((await browser.open('/users')).status).toBe(303);
    await browser.useLink(fixture.createLink(OPERATORS.viewer));
    expect(browser.cookies.get('usher-console')).not.toBe(planted);
    const attacker = new ConsoleBrowser(fixture.url);
    attacker.cookies.set('usher-console', planted);
    expect((await attacker.open('/users')).status).toBe(303);
  });

  test('of a recent sign-in of another operator make no sign-in recent', async () => {
    const browser = await fixture.signIn(OPERATORS.admin);
    const other = await fixture.signIn(OPERATORS.support);
    browser.cookies.set('usher-console-sign-in', other.cookies.get('usher-console-sign-in') ?? '');
    const path = fillPath('/applications/:a/keys/:k/revoke', samples.params);
    expect((await browser.open(path)).location).toMatch(/^\/login\?.*fresh/);
  });

  test('of a session of another application open nothing', async () => {
    const { users } = await adminClient(fixture.service).listUsers({ email: samples.email });
    const [session] = await fixture.service.database.sql`select id from sessions where user_id = ${users[0]?.id ?? ''}`;
    const browser = new ConsoleBrowser(fixture.url);
    browser.cookies.set('usher-console', session?.id);
    expect((await browser.open('/users')).status).toBe(303);
  });
});

test('a page on another port of this host sends no form, although it gets the cookies', async () => {
  const browser = await fixture.signIn(OPERATORS.admin);
  const loginPage = 'http://localhost:8080';
  for (const headers of [
    { 'sec-fetch-site': 'same-site', origin: loginPage },
    { origin: loginPage },
    { referer: fixture.url },
  ]) {
    const reply = await browser.post(`/users/${samples.params.u}/deactivate`, {}, headers as Record<string, string>);
    expect(reply.status).toBe(403);
  }
});

test('a name that resolves to this machine shows nothing and is in no answer', async () => {
  const link = fixture.createLink(OPERATORS.viewer);
  for (const path of ['/', '/login', '/users', '/callback?state=x', pathOf(link)]) {
    const reply = await request(fixture.url.replace('localhost', '127.0.0.1'), {
      path,
      headers: { host: 'evil.test:8081', 'sec-fetch-site': 'same-origin' },
    });
    expect(JSON.stringify([reply.headers, reply.body]), path).not.toContain('evil.test');
    expect([200, 303, 400], path).toContain(reply.status);
    expect(reply.body, path).not.toContain('class="side');
  }
});

test('redirects lead to the console, whatever the path looks like', async () => {
  const browser = new ConsoleBrowser(fixture.url);
  for (const path of [
    '//evil.test/',
    '/\\evil.test',
    '/%2f%2fevil.test',
    '/users?to=//evil.test',
    '/login?to=//evil.test',
  ]) {
    const { location = '' } = await browser.open(path);
    if (location !== '') expect(new URL(location, fixture.url).host, path).not.toContain('evil');
  }
});

test('a link of the server is in no line of the log', async () => {
  const link = fixture.createLink(OPERATORS.viewer);
  const token = new URL(link).searchParams.get('link') ?? '';
  await new ConsoleBrowser(fixture.url).useLink(link);
  expect(token.length).toBeGreaterThan(40);
  expect(log.text).toContain('GET /callback');
  expect(log.text).not.toContain(token);
  expect(log.text).not.toContain(token.slice(-30));
});

test('a key that the console creates is in no line of the log, and in no cache', async () => {
  const browser = await fixture.signIn(OPERATORS.admin);
  const form = { name: 'Secretive', redirectUris: 'http://127.0.0.1/' };
  const keys: string[] = [];
  const create = async () => {
    const page = await browser.open('/applications/new');
    const { text, headers } = await browser.submit(page, '/applications/new', form);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    keys.push(/usk_\w+/.exec(text)?.[0] ?? '');
    return log.text;
  };
  // The log leaves lines out beyond a hundred in a second.
  await expect.poll(create, { timeout: 30_000 }).toContain('POST /applications/new');
  for (const key of keys) {
    expect(key.length).toBeGreaterThan(40);
    expect(log.text).not.toContain(key.slice(-30));
  }
});

describe('a body', () => {
  const send = (body: string, headers: Record<string, string> = {}) =>
    request(fixture.url.replace('localhost', '127.0.0.1'), {
      method: 'POST',
      path: '/callback',
      headers: { 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body,
    });

  test('of more than 16 KiB is refused, also one that claims to have 100 MB before it comes', async () => {
    expect((await send(`link=${'x'.repeat(16_385)}`)).status).toBe(413);
    expect((await send(`link=${'x'.repeat(16_000)}`)).status).toBe(403);
    const reply = await request(fixture.url.replace('localhost', '127.0.0.1'), {
      method: 'POST',
      path: '/callback',
      headers: {
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': '100000000',
      },
      isBodyPending: true,
    });
    expect(reply.status).toBe(413);
  });

  test('of another type is refused', async () => {
    expect((await send('{}', { 'content-type': 'application/json' })).status).toBe(415);
    expect((await send('x', { 'content-type': 'multipart/form-data; boundary=x' })).status).toBe(415);
  });
});

test('a network begins so many logins, and no more rows, however often it asks', async () => {
  const { sql } = fixture.service.database;
  const count = async () => (await sql`select from login_intents`).length;
  const before = await count();
  const browser = new ConsoleBrowser(fixture.url);
  const statuses = new Map<number, number>();
  for (let round = 0; round < 30; round++) {
    const replies = await Promise.all(Array.from({ length: 10 }, () => browser.open('/login')));
    for (const { status } of replies) statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  expect(Object.fromEntries(statuses)).toEqual({ 303: 100, 429: 200 });
  expect((await count()) - before).toBe(statuses.get(303));
});

describe('forged fields', () => {
  test('change nothing that the form does not have', async () => {
    const browser = await fixture.signIn(OPERATORS.admin);
    const target = await createTestUser(fixture.service);
    const other = await createTestUser(fixture.service);
    const forged = {
      userId: other.id,
      id: other.id,
      deactivatedAt: '',
      role: 'admin',
      applicationId: samples.params.a,
    };
    await browser.post(`/users/${target.id}`, { email: target.email, name: 'Changed', ...forged });
    const name = async (id: string) =>
      (await fixture.service.database.sql`select name from users where id = ${id}`)[0]?.name;
    expect(await name(target.id)).toBe('Changed');
    expect(await name(other.id)).not.toBe('Changed');
  });

  test('let a role do no more', async () => {
    for (const role of ['viewer', 'support'] as const) {
      const browser = await fixture.signIn(OPERATORS[role]);
      const before = await fixture.readAudit();
      for (const fields of [{ role: 'admin' }, { operator: OPERATORS.admin }, { actor: 'admin', email: 'x@y.test' }]) {
        const { status } = await browser.post(`/users/${samples.params.u}`, fields as Record<string, string>);
        expect(status).toBe(403);
      }
      expect(await fixture.readAudit()).toEqual(before);
    }
  });
});

describe('IDs of another application', () => {
  test('are not found below this one', async () => {
    const browser = await fixture.signIn(OPERATORS.admin);
    const bakery = await createTenant(fixture.service, { name: 'Bakery' });
    const { events } = clientsOf(fixture.service, bakery);
    await events.createEvent({ eventId: 'of the bakery' });
    const params = { ...samples.params, a: bakery.id };
    const before = await fixture.readAudit();
    const below = ROUTES.filter(({ path }) => /\/:[kwme]\b/.test(path));
    expect(below.length).toBeGreaterThan(15);
    for (const { method, path } of below) {
      const target = fillPath(path, params);
      const reply: ConsoleReply = await (method === 'GET'
        ? browser.open(target)
        : browser.post(target, { name: 'x', url: 'https://a.test', ownerId: samples.params.u, attendeeId: 'a' }));
      expect([404, 422], `${method} ${path}: ${reply.status}`).toContain(reply.status);
    }
    expect(await fixture.readAudit()).toEqual(before);
  });
});

describe('an operator', () => {
  const edit = async (change: (text: string) => string) => {
    const text = await readFile(fixture.operatorsFile, 'utf8');
    await writeFile(fixture.operatorsFile, change(text));
    return () => writeFile(fixture.operatorsFile, text);
  };
  const poll = (browser: ConsoleBrowser, path: string) =>
    expect.poll(async () => (await browser.open(path)).status, { timeout: 30_000 });

  test('gets and loses a role while signed in', async () => {
    const browser = await fixture.signIn(OPERATORS.viewer);
    expect((await browser.open('/users/new')).status).toBe(403);
    const undo = await edit((text) => text.replace(`${OPERATORS.viewer} viewer`, `${OPERATORS.viewer} admin`));
    await poll(browser, '/users/new').toBe(200);
    await undo();
    await poll(browser, '/users/new').toBe(403);
    expect((await browser.open('/users')).status).toBe(200);
  });

  test('who needs a passkey gets in with nothing else', async () => {
    const browser = await fixture.signIn(OPERATORS.support);
    const undo = await edit((text) =>
      text.replace(`${OPERATORS.support} support`, `${OPERATORS.support} support passkey`),
    );
    await poll(browser, '/users').toBe(403);
    expect((await browser.open('/users')).text).toContain('has to sign in with a passkey');
    const other = new ConsoleBrowser(fixture.url);
    const reply = await other.useLink(fixture.createLink(OPERATORS.support));
    // It leads to the login page, to add a passkey.
    expect(reply).toMatchObject({ status: 303, location: expect.stringMatching(/\/login\?intent=/) });
    expect((await other.open('/users')).heading).not.toBe('Users');
    await fixture.service.database
      .sql`update sessions set method = 'passkey', assurance = 3 where email = ${OPERATORS.support}`;
    await poll(browser, '/users').toBe(200);
    await undo();
  });

  test('is nobody whose address only looks the same in lower case', async () => {
    const undo = await edit((text) => `${text}frank@example.com admin\n`);
    const signIn = (email: string) => new ConsoleBrowser(fixture.url).useLink(fixture.createLink(email));
    await expect.poll(async () => (await signIn('FRANK@example.com')).location, { timeout: 30_000 }).toBe('/');
    expect(await signIn('fran\u212a@example.com')).toMatchObject({ status: 403, cookies: [] });
    await undo();
  });
});
