import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MINUTE, type TestClock } from '../support/clock.ts';
import { cloneDatabase } from '../support/database.ts';
import { request } from '../support/http.ts';
import { type BegunLogin, beginLogin, formOf, LoginBrowser, type LoginPage, textOf } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import type { Mailbox } from '../support/mailbox.ts';
import {
  adminClient,
  createTenant,
  createTestUser,
  startTestService,
  type Tenant,
  type TestService,
  testConfig,
} from '../support/service.ts';

const HOSTILE_NAME = `<script>alert(1)</script> & "Söhne" 'GmbH'`;
const BOTH = ['wallet', 'email'] as const;

let fixture: LoginFixture;
let clock: TestClock;
let mailbox: Mailbox;
let service: TestService;
let tenant: Tenant;

beforeAll(async () => {
  fixture = await LoginFixture.open({ name: HOSTILE_NAME });
  ({ clock, mailbox, service, tenant } = fixture);
});
afterAll(() => fixture.close());

/** A browser on the page of a new login. */
const openPage = (at: TestService = service, of: Tenant = tenant) => fixture.arrive({ at, of });

describe('what the page says', () => {
  it('names the application, whatever characters its name has', async () => {
    const { page } = await openPage();
    expect(page.status).toBe(200);
    expect(page.heading).toBe(`Sign in to ${HOSTILE_NAME}`);
    expect(textOf(/<title>(.*?)<\/title>/s.exec(page.body)?.[1])).toBe(`Sign in to ${HOSTILE_NAME}`);
    expect(page.body).not.toContain('alert(1)</script>');
    expect(page.body.match(/<script/g)).toHaveLength(1);
  });

  it('names it on the page for the code as well, with the address that was typed', async () => {
    const { browser, page } = await openPage();
    const email = `o'hara&amp@example.com`;
    const codePage = await browser.submit(page, '/login/email', { email });
    expect(codePage.status).toBe(200);
    expect(textOf(codePage.body)).toContain(`If ${email} belongs to an account`);
    expect(textOf(codePage.body)).toContain(HOSTILE_NAME);
    expect(codePage.body.match(/<script/g)).toHaveLength(1);
    expect(formOf(codePage, '/login/code').fields.email).toBe(email);
  });

  it('and escapes whatever address the cookie has', async () => {
    const { browser, login } = await openPage();
    const email = `"><script>alert(1)</script>&'@example.com`;
    browser.cookie = `${browser.cookie}; usher-email=${encodeURIComponent(email)}`;
    const codePage = await browser.open(`/login/code?intent=${login.loginIntentId}`);
    expect(textOf(codePage.body)).toContain(`If ${email} belongs to an account`);
    expect(codePage.body).not.toContain('alert(1)</script>');
    expect(codePage.body.match(/<script/g)).toHaveLength(1);
    expect(formOf(codePage, '/login/code').fields.email).toBe(email);
  });

  it('keeps an address that is none, escaped, beside what is wrong with it', async () => {
    const { browser, page } = await openPage();
    const email = `"><img src=x onerror='alert(1)'>`;
    const again = await browser.submit(page, '/login/email', { email });
    expect(again.status).toBe(200);
    expect(again.alert).toBe('Please enter an e-mail address, such as ada@example.com.');
    expect(formOf(again, '/login/email').fields.email).toBe(email);
    expect(again.body).not.toContain('<img');
  });

  it('shows nothing of a query it does not know', async () => {
    const { body } = await new LoginBrowser(service).open(
      `/login?intent=${encodeURIComponent('"><script>alert(1)</script>')}`,
    );
    expect(body).not.toContain('alert(1)');
  });

  it.each([
    { methods: ['email'] as const, offered: ['/login/email', '/login/cancel'], missing: '/login/wallet' },
    { methods: ['wallet'] as const, offered: ['/login/wallet', '/login/cancel'], missing: '/login/email' },
    { methods: BOTH, offered: ['/login/email', '/login/wallet', '/login/cancel'], missing: '/login/password' },
  ])('offers $methods where these are on, and nothing else', async ({ methods, offered, missing }) => {
    const { database, config } = service;
    await using other = await startTestService({ database, like: config, config: { loginMethods: methods } });
    const { browser, page } = await openPage(other);
    expect(page.forms.map(({ action }) => action)).toEqual(offered);
    const refused = await browser.post(missing, { ...formOf(page, '/login/cancel').fields, email: 'a@example.com' });
    expect(refused.status).toBe(404);
  });

  it('is under 20 KB in every state, for the longest names', async () => {
    const long = await createTenant(service, { name: '"'.repeat(255) });
    const { browser, page } = await openPage(service, long);
    const email = `${"'".repeat(252)}@x`;
    const codePage = await browser.submit(page, '/login/email', { email });
    const wrong = await browser.submit(codePage, '/login/code', { code: '000000x' });
    const again = await browser.submit(codePage, '/login/email/again', { email: "'".repeat(254) });
    expect([page, codePage, wrong, again].map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    for (const { body } of [page, codePage, wrong, again]) expect(Buffer.byteLength(body)).toBeLessThan(20_000);
  });

  it('is one document that asks no host for anything', async () => {
    for (const [, reach] of states) {
      const { body } = await reach();
      const addresses = [...body.matchAll(/\b(?:src|href|action|srcset|poster|data)="([^"]*)"/g)].map(([, url]) => url);
      expect(addresses.filter((url) => !/^(?:data:,|\/login(?:\/\w+){0,2})$/.test(url ?? ''))).toEqual([]);
      expect(body).not.toMatch(/url\(|@import|https?:\/\/|\bfetch\(['"`]/);
    }
  });
});

/** Every page there is, and how to get to it. */
const states: readonly [name: string, reach: () => Promise<LoginPage>, status: number][] = [
  ['the choice', async () => (await openPage()).page, 200],
  ['the choice with an alert', async () => submitNew('/login/email', { email: 'nobody' }), 200],
  ['the code', async () => submitNew('/login/email', { email: 'nobody@example.com' }), 200],
  [
    'the code with an alert',
    async () => {
      const { browser, page } = await openPage();
      const codePage = await browser.submit(page, '/login/email', { email: 'somebody@example.com' });
      return browser.submit(codePage, '/login/code', { code: 'x' });
    },
    200,
  ],
  ['an unknown intent', () => visit('/login?intent=00000000-0000-4000-8000-000000000000'), 404],
  ['an intent that is none', () => visit('/login?intent=1'), 404],
  ['no intent', () => visit('/login'), 404],
  ['an expired intent', async () => visit((await expiredLogin()).path), 410],
  ['a used-up intent', async () => visit((await completedLogin()).path), 409],
  ['a form without its token', async () => submitNew('/login/email', { email: 'a@example.com', token: '' }), 403],
  ['a form that is too long', async () => submitNew('/login/email', { email: 'x'.repeat(9_000) }), 413],
  ['another path', () => visit('/login/other'), 404],
];

const visit = (path: string) => new LoginBrowser(service).open(path);

async function submitNew(action: string, typed: Record<string, string>): Promise<LoginPage> {
  const { browser, page } = await openPage();
  return browser.submit(page, action, typed);
}

async function expiredLogin(): Promise<BegunLogin> {
  const login = await beginLogin(service, tenant);
  clock.advance(30 * MINUTE);
  return login;
}

async function completedLogin(): Promise<BegunLogin> {
  const login = await beginLogin(service, tenant);
  const { id: userId } = await createTestUser(service);
  await adminClient(service).completeLogin({ loginIntentId: login.loginIntentId, userId });
  return login;
}

describe.each(states)('%s', (_name, reach, status) => {
  it(`is a page of status ${status} and no redirect`, async () => {
    const page = await reach();
    expect(page.status).toBe(status);
    expect(page.location).toBeUndefined();
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.body).toMatch(/^<!doctype html>\n<html lang="en">/);
    expect(page.heading).not.toBe('');
  });

  it('keeps itself to itself', async () => {
    const { headers, body } = await reach();
    const nonce = /^.*?style-src 'nonce-([\w+/=]+)'/.exec(headers['content-security-policy'] ?? '')?.[1] ?? '';
    expect(Buffer.from(nonce, 'base64').length).toBeGreaterThanOrEqual(16);
    const policy = Object.fromEntries(
      (headers['content-security-policy'] ?? '').split(';').map((directive) => {
        const [name = '', ...sources] = directive.trim().split(' ');
        return [name, sources];
      }),
    );
    expect(policy).toMatchObject({
      'default-src': ["'none'"],
      'style-src': [`'nonce-${nonce}'`],
      'script-src': [`'nonce-${nonce}'`],
      'base-uri': ["'none'"],
      'frame-ancestors': ["'none'"],
    });
    expect(body.match(/<(?:style|script)[^>]*>/g)).toEqual([
      `<style nonce="${nonce}">`,
      `<script type="module" nonce="${nonce}">`,
    ]);
    expect(body).not.toMatch(/<[^>]*\s(?:style|on\w+)=/);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'strict-transport-security': expect.stringMatching(/^max-age=[1-9]\d{6,}/),
      'x-content-type-options': 'nosniff',
    });
    expect((await reach()).headers['content-security-policy']).not.toContain(nonce);
  });
});

describe('what is not open any more', () => {
  it.each([
    ['unknown', () => visit('/login?intent=00000000-0000-4000-8000-000000000000'), 'This sign-in is not known'],
    ['expired', async () => visit((await expiredLogin()).path), 'This sign-in has expired'],
    ['used up', async () => visit((await completedLogin()).path), 'This sign-in has been used'],
  ])('says of a login that is %s what it is and what to do', async (_kind, reach, heading) => {
    const page = await reach();
    expect(page.heading).toBe(heading);
    expect(textOf(page.body)).toContain('Go back to the application you came from and sign in again.');
    expect(page.forms).toEqual([]);
  });

  it('expires to the millisecond', async () => {
    const login = await beginLogin(service, tenant);
    clock.advance(30 * MINUTE - 1);
    expect((await visit(login.path)).status).toBe(200);
    clock.advance(1);
    expect((await visit(login.path)).status).toBe(410);
  });

  it('is unknown where the application has been deleted', async () => {
    const gone = await createTenant(service, { name: 'Gone' });
    const login = await beginLogin(service, gone);
    await adminClient(service).deleteApplication({ applicationId: gone.id });
    expect((await visit(login.path)).status).toBe(404);
  });

  it.each(['/login/email', '/login/code', '/login/wallet', '/login/cancel'])(
    'answers %s as the page: 404 unknown, 410 expired, 409 used up, never a redirect',
    async (action) => {
      const { login, browser, page } = await openPage();
      const { token = '' } = formOf(page, '/login/cancel').fields;
      const typed = { token, email: 'ada@example.com', code: '123456', signature: `0x${'1'.repeat(130)}` };
      const post = async (intent: string) => {
        const { status, location } = await browser.post(action, { ...typed, intent });
        return { status, location };
      };
      expect(await post('00000000-0000-4000-8000-000000000000')).toEqual({ status: 404, location: undefined });
      expect(await post((await completedLogin()).loginIntentId)).toEqual({ status: 409, location: undefined });
      clock.advance(30 * MINUTE);
      expect(await post(login.loginIntentId)).toEqual({ status: 410, location: undefined });
    },
  );
});

describe('the cookie', () => {
  it('is HttpOnly, SameSite=Lax, Secure and __Host- over https', async () => {
    const { headers } = (await openPage()).page;
    expect(headers['set-cookie']).toEqual([
      expect.stringMatching(/^__Host-usher=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/),
    ]);
  });

  it('is Secure over https for the address a code goes to as well', async () => {
    const { browser, page } = await openPage();
    const { headers } = await request(service.url, {
      method: 'POST',
      path: '/login/email',
      headers: { 'content-type': 'application/x-www-form-urlencoded', cookie: browser.cookie ?? '' },
      body: new URLSearchParams({ ...formOf(page, '/login/email').fields, email: 'a@b.test' }).toString(),
    });
    expect(headers['set-cookie']).toEqual([
      'usher-email=a%40b.test; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure',
    ]);
  });

  it('is HttpOnly and SameSite=Lax over http, where there is no HSTS', async () => {
    const { database, config } = service;
    await using plain = await startTestService({
      database,
      like: config,
      config: { publicUrl: 'http://usher.test', loginMethods: BOTH },
    });
    const { headers } = (await openPage(plain)).page;
    expect(headers['set-cookie']).toEqual([
      expect.stringMatching(/^usher=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/),
    ]);
    expect(headers['strict-transport-security']).toBeUndefined();
  });

  it('is Secure for certain, since PUBLIC_URL cannot spell https otherwise', () => {
    const settings = () => testConfig(service.database.url, { PUBLIC_URL: 'HTTPS://usher.test' });
    expect(settings).toThrow('PUBLIC_URL must have its scheme in lower case');
  });

  it('is given once, and a new one where the old one was never ours', async () => {
    const { browser, login, page } = await openPage();
    expect((await browser.open(login.path)).headers['set-cookie']).toBeUndefined();
    browser.cookie = '__Host-usher=mine';
    const again = await browser.open(login.path);
    expect(again.headers['set-cookie']).toHaveLength(1);
    expect(formOf(again, '/login/email').fields.token).not.toBe(formOf(page, '/login/email').fields.token);
  });

  it('is found among others, also where HTTP/2 sends each in a field of its own', async () => {
    const { browser, login, page } = await openPage();
    const token = formOf(page, '/login/email').fields.token;
    const { body } = await request(service.url, {
      httpVersion: '2',
      path: login.path,
      headers: { cookie: `a=1; usher=${'x'.repeat(43)}; ${browser.cookie}; b=2` },
    });
    expect(body).toContain(`name="token" value="${token}"`);
  });

  it('is not in the page, nor is the form token in the cookie', async () => {
    const { browser, page } = await openPage();
    const secret = browser.cookie?.split('=')[1] ?? '';
    expect(secret).toHaveLength(43);
    expect(page.body).not.toContain(secret);
    expect(browser.cookie).not.toContain(formOf(page, '/login/email').fields.token);
  });
});

describe('a form that is not the browser’s own', () => {
  const actions = ['/login/email', '/login/code', '/login/wallet', '/login/wallet/challenge', '/login/cancel'];

  it.each(actions)('is refused with 403 by %s', async (action) => {
    const { login, browser, page } = await openPage();
    const { page: foreign } = await openPage();
    const { token = '' } = formOf(page, '/login/cancel').fields;
    const foreignToken = formOf(foreign, '/login/cancel').fields.token ?? '';
    expect(foreignToken).toHaveLength(token.length);
    const tokens = [undefined, '', foreignToken, token.slice(1), `${token}=`, token.toUpperCase()];
    for (const given of tokens) {
      const fields = {
        intent: login.loginIntentId,
        email: 'ada@example.com',
        ...(given !== undefined && { token: given }),
      };
      const { status, body, location } = await browser.post(action, fields);
      expect({ given, status, location }).toEqual({ given, status: 403, location: undefined });
      expect(body).toContain('That page was out of date');
    }
  });

  it('is refused with 403 where the token is as long but of other characters', async () => {
    const { login, browser, page } = await openPage();
    const { token = '' } = formOf(page, '/login/cancel').fields;
    const { status } = await browser.post('/login/cancel', {
      intent: login.loginIntentId,
      token: 'é'.repeat(token.length),
    });
    expect(status).toBe(403);
  });

  it('is refused with 403 where the cookie did not come along, and sends no code', async () => {
    const { browser, page } = await openPage();
    const { email } = await createTestUser(service);
    browser.cookie = undefined;
    const { status, body } = await browser.submit(page, '/login/email', { email });
    expect(status).toBe(403);
    expect(body).toContain('Your browser did not send our cookie');
    expect(mailbox.letters.filter((letter) => letter.email === email)).toEqual([]);
  });
});

describe('a request that is not one of the page', () => {
  it.each([
    ['PUT', '/login'],
    ['POST', '/login'],
    ['DELETE', '/login'],
    ['GET', '/login/email'],
    ['GET', '/login/cancel'],
    ['GET', '/login/wallet/challenge'],
    ['GET', '/login/'],
    ['GET', '/login/unknown'],
    ['GET', '/login/%2e%2e/healthz'],
  ])('answers %s %s with a page of status 404', async (method, path) => {
    const { status, heading, headers } = await new LoginBrowser(service).open(path, method);
    expect({ status, heading }).toEqual({ status: 404, heading: 'There is no such page' });
    expect(headers['set-cookie']).toBeUndefined();
  });

  it.each(['/logins', '/Login', '/login.html', '/loginx/email'])('leaves %s to others', async (path) => {
    const { status, headers } = await new LoginBrowser(service).open(path);
    expect({ status, type: headers['content-type'] }).toEqual({ status: 404, type: 'application/json' });
  });

  it('answers HEAD as GET, without the page', async () => {
    const login = await beginLogin(service, tenant);
    const shown = await new LoginBrowser(service).open(login.path);
    const { status, headers, body } = await new LoginBrowser(service).open(login.path, 'HEAD');
    expect({ status, body }).toEqual({ status: 200, body: '' });
    expect(headers['content-length']).toBe(shown.headers['content-length']);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect((await new LoginBrowser(service).open('/login', 'HEAD')).status).toBe(404);
  });

  it('refuses a form that is too long with 413, announced or not', async () => {
    const { browser, page } = await openPage();
    const { fields } = formOf(page, '/login/email');
    const body = new URLSearchParams({ ...fields, email: 'x'.repeat(8_192) }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded', cookie: browser.cookie ?? '' };
    const announced = await request(service.url, { method: 'POST', path: '/login/email', headers, body });
    const chunked = { ...headers, 'transfer-encoding': 'chunked' };
    const unannounced = await request(service.url, { method: 'POST', path: '/login/email', headers: chunked, body });
    expect([announced.status, unannounced.status]).toEqual([413, 413]);
    const huge = 'x'.repeat(2_000_000);
    expect((await request(service.url, { method: 'POST', path: '/login/email', headers, body: huge })).status).toBe(
      413,
    );
  });

  it('takes a form that is just short enough', async () => {
    const { browser, page } = await openPage();
    const { fields } = formOf(page, '/login/email');
    const rest = new URLSearchParams({ ...fields, email: '' }).toString().length;
    const reply = await browser.post('/login/email', { ...fields, email: 'x'.repeat(8_192 - rest) });
    expect(reply.alert).toBe('Please enter an e-mail address, such as ada@example.com.');
  });

  it.each([
    undefined,
    'application/json',
    'text/plain',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencodedx',
  ])('refuses a body of type %s with 415', async (type) => {
    const { browser, page } = await openPage();
    const { status } = await request(service.url, {
      method: 'POST',
      path: '/login/cancel',
      headers: { cookie: browser.cookie ?? '', ...(type !== undefined && { 'content-type': type }) },
      body: new URLSearchParams(formOf(page, '/login/cancel').fields).toString(),
    });
    expect(status).toBe(415);
  });

  it('takes a form with a charset, in whatever case', async () => {
    const { browser, page } = await openPage();
    const { status } = await request(service.url, {
      method: 'POST',
      path: '/login/cancel',
      headers: { cookie: browser.cookie ?? '', 'content-type': 'Application/X-WWW-Form-Urlencoded; charset=UTF-8' },
      body: new URLSearchParams(formOf(page, '/login/cancel').fields).toString(),
    });
    expect(status).toBe(303);
  });

  it('answers bytes that are no UTF-8 as an address that is none', async () => {
    const { browser, page } = await openPage();
    const { status, headers } = await request(service.url, {
      method: 'POST',
      path: '/login/email',
      headers: { cookie: browser.cookie ?? '', 'content-type': 'application/x-www-form-urlencoded' },
      body: `${new URLSearchParams(formOf(page, '/login/cancel').fields)}&email=%ff%00%ed%a0%80`,
    });
    expect(status).toBe(303);
    expect((await browser.open(headers.location ?? '')).alert).toBe(
      'Please enter an e-mail address, such as ada@example.com.',
    );
  });
});

describe('where the page is not ours, or the database is gone', () => {
  it('serves no page while AUTH_PAGE_URL names another', async () => {
    const { database, config } = service;
    await using other = await startTestService({
      database,
      like: config,
      config: { authPageUrl: 'https://login.test/page' },
    });
    const login = await beginLogin(other, tenant);
    expect(login.path).toBe(`/page?intent=${login.loginIntentId}`);
    for (const path of [`/login?intent=${login.loginIntentId}`, '/login/email']) {
      const { status, headers } = await new LoginBrowser(other).open(path);
      expect({ status, type: headers['content-type'] }).toEqual({ status: 404, type: 'application/json' });
      expect(headers['set-cookie']).toBeUndefined();
    }
  });

  it('keeps to its path below PUBLIC_URL', async () => {
    const { database, config } = service;
    await using below = await startTestService({
      database,
      like: config,
      config: { publicUrl: 'https://usher.test/auth/', loginMethods: BOTH },
    });
    const login = await beginLogin(below, tenant);
    expect(login.path).toBe(`/auth/login?intent=${login.loginIntentId}`);
    const page = await new LoginBrowser(below).open(login.path.replace('/auth', ''));
    expect(page.forms.map(({ action }) => action)).toEqual([
      '/auth/login/email',
      '/auth/login/wallet',
      '/auth/login/cancel',
    ]);
    expect(page.body).toContain('data-challenge="/auth/login/wallet/challenge"');
  });

  it('says on a page of status 503 that it cannot sign anybody in while there is no database', async () => {
    const database = await cloneDatabase();
    await using lost = await startTestService({
      database,
      config: { loginMethods: BOTH, requestTimeoutMs: 1_000 },
    });
    const { browser, login, page } = await openPage(lost, await createTenant(lost));
    await database[Symbol.asyncDispose]();
    for (const reply of [await browser.open(login.path), await browser.submit(page, '/login/cancel')]) {
      expect({ status: reply.status, heading: reply.heading, location: reply.location }).toEqual({
        status: 503,
        heading: 'We cannot sign you in right now',
        location: undefined,
      });
      expect(reply.headers['retry-after']).toBe('1');
    }
  });
});
