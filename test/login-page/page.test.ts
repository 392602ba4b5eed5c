/** The login page over HTTP: its content, headers, cookie and errors. */
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { MINUTE } from '../support/clock.ts';
import { cloneDatabase } from '../support/database.ts';
import { request } from '../support/http.ts';
import { type BegunLogin, beginLogin, formOf, LoginBrowser, type LoginPage, textOf } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { adminClient, createTestUser, PUBLIC_URL, REDIRECT_URI, type TestService } from '../support/service.ts';

const HOSTILE_NAME = `<script>alert(1)</script> & "Söhne" 'GmbH'`;
const FORM = 'application/x-www-form-urlencoded';
const JSON_404 = { status: 404, headers: { 'content-type': 'application/json' } };

const fixture = await LoginFixture.open({ name: HOSTILE_NAME });
const { clock, service, tenant } = fixture;
afterAll(() => fixture.close());

const visit = (path: string, at: TestService = service) => new LoginBrowser(at).open(path);

async function submitNew(action: string, typed: Record<string, string>): Promise<LoginPage> {
  const { browser, page } = await fixture.arrive();
  return browser.submit(page, action, typed);
}

async function visitExpired(): Promise<LoginPage> {
  const { path } = await beginLogin(service, tenant);
  clock.advance(30 * MINUTE);
  return visit(path);
}

async function completedLogin(): Promise<BegunLogin> {
  const login = await beginLogin(service, tenant);
  const { id: userId } = await createTestUser(service);
  await adminClient(service).completeLogin({ loginIntentId: login.loginIntentId, userId });
  return login;
}

/** Posts a form of a new page with the given headers. */
async function postNew(path: string, headers: Record<string, string>, typed: Record<string, string> = {}) {
  const { browser, page } = await fixture.arrive();
  const body = new URLSearchParams({ ...formOf(page, '/login/cancel').fields, ...typed }).toString();
  const cookie = browser.cookie ?? '';
  return request(service.url, { method: 'POST', path, headers: { cookie, ...headers }, body });
}

describe('the page', () => {
  it('names the application and escapes its name', async () => {
    const { page } = await fixture.arrive();
    expect(page.heading).toBe(`Sign in to ${HOSTILE_NAME}`);
    expect(textOf(/<title>(.*?)<\/title>/s.exec(page.body)?.[1])).toBe(`Sign in to \u2068${HOSTILE_NAME}\u2069`);
    expectEscaped(page);
  });

  it('for the code shows the application and the address that was typed', async () => {
    const email = `o'hara&amp@example.com`;
    const codePage = await submitNew('/login/email', { email });
    expect(textOf(codePage.body)).toContain(`If ${email} belongs to an account`);
    expect(textOf(codePage.body)).toContain(HOSTILE_NAME);
    expect(formOf(codePage, '/login/code').fields.email).toBe(email);
    expectEscaped(codePage);
  });

  it.each([
    { methods: ['email'] as const, offered: ['/login/email', '/login/cancel'], missing: '/login/wallet' },
    { methods: ['wallet'] as const, offered: ['/login/wallet', '/login/cancel'], missing: '/login/email' },
  ])('offers only $methods if only that is enabled', async ({ methods, offered, missing }) => {
    await using other = await fixture.startReplica({ loginMethods: methods });
    const { browser, page } = await fixture.arrive({ at: other });
    expect(page.forms.map(({ action }) => action)).toEqual(offered);
    const fields = { ...formOf(page, '/login/cancel').fields, email: 'a@example.com' };
    expect((await browser.post(missing, fields)).status).toBe(404);
  });

  it('is not served if AUTH_PAGE_URL names another', async () => {
    await using other = await fixture.startReplica({ authPageUrl: 'https://login.test/page' });
    const login = await beginLogin(other, tenant);
    expect(login.path).toBe(`/page?intent=${login.loginIntentId}&client_id=${tenant.clientId}`);
    for (const path of [`/login?intent=${login.loginIntentId}`, '/login/email']) {
      const page = await visit(path, other);
      expect(page).toMatchObject(JSON_404);
      expect(page.cookies).toEqual([]);
    }
  });

  it('links to the path of PUBLIC_URL', async () => {
    await using below = await fixture.startReplica({ publicUrl: 'https://usher.test/auth/' });
    const login = await beginLogin(below, tenant);
    expect(login.path).toBe(`/auth/login?intent=${login.loginIntentId}&client_id=${tenant.clientId}`);
    const page = await visit(login.path.replace('/auth', ''), below);
    const actions = page.forms.map(({ action }) => action);
    expect(actions).toEqual(['/auth/login/email', '/auth/login/wallet', '/auth/login/cancel']);
    expect(page.body).toContain('data-challenge="/auth/login/wallet/challenge"');
  });

  function expectEscaped({ body }: LoginPage): void {
    expect(body).not.toContain('alert(1)</script>');
    expect(body.match(/<script/g)).toHaveLength(1);
  }
});

/** Every kind of page, how to reach it, its status and its heading. */
const states: readonly [name: string, reach: () => Promise<LoginPage>, status: number, heading: string][] = [
  ['an unknown login', () => visit(`/login?intent=${randomUUID()}`), 404, 'This sign-in is not known'],
  ['an expired login', visitExpired, 410, 'This sign-in has expired'],
  ['a completed login', async () => visit((await completedLogin()).path), 409, 'This sign-in has been used'],
  ['the choice', async () => (await fixture.arrive()).page, 200, `Sign in to ${HOSTILE_NAME}`],
  ['the choice with an alert', () => submitNew('/login/email', { email: 'nobody' }), 200, `Sign in to ${HOSTILE_NAME}`],
  ['the code', () => submitNew('/login/email', { email: 'nobody@example.com' }), 200, 'Check your e-mail'],
  ['the code with an alert', async () => (await fixture.askForCode()).enter('x'), 200, 'Check your e-mail'],
  [
    'a malformed login',
    () => visit(`/login?intent=${encodeURIComponent('"><script>alert(1)</script>')}`),
    404,
    'This sign-in is not known',
  ],
  ['a form without its token', () => submitNew('/login/email', { token: '' }), 403, 'That page was out of date'],
  ['a form above 8 KiB', () => submitNew('/login/email', { email: 'x'.repeat(9_000) }), 413, 'We could not read that'],
  ['an unknown path', () => visit('/login/other'), 404, 'There is no such page'],
];

it.each(states)(
  '%s is one HTML document that loads nothing and allows nothing',
  async (_name, reach, status, heading) => {
    const page = await reach();
    const { headers, body } = page;
    expect(page).toMatchObject({ status, heading, location: undefined });
    if (heading.startsWith('This sign-in')) {
      expect(page.forms).toEqual([]);
      expect(textOf(body)).toContain('Go back to the application you came from and sign in again.');
    }
    // Every dead end has a way on, and what people can quote.
    const isDeadEnd = page.status >= 400;
    expect(/<a class="button|<button type="button" data-back/.test(body)).toBe(isDeadEnd);
    expect(body.includes(`Request ID: <code dir="ltr">${headers['x-request-id']}</code>`)).toBe(isDeadEnd);
    if (isDeadEnd) expect(body).toMatch(/<main class="card">\s*<(span class="mark"|picture class="logo)/);
    expect(body).toMatch(/^<!doctype html>\n<html lang="en" dir="ltr">/);
    const policy = headers['content-security-policy'] ?? '';
    const nonce = /style-src 'nonce-([\w+/=]+)'/.exec(policy)?.[1] ?? '';
    expect(Buffer.from(nonce, 'base64').length).toBeGreaterThanOrEqual(16);
    const directives = ["default-src 'none'", `style-src 'nonce-${nonce}'`, `script-src 'nonce-${nonce}'`];
    const allowed = policy.split(';').map((directive) => directive.trim());
    expect(allowed).toEqual(expect.arrayContaining([...directives, "base-uri 'none'", "frame-ancestors 'none'"]));
    expect(body.match(/<(?:style|script)[^>]*>/g)).toEqual([
      `<style nonce="${nonce}">`,
      `<script type="module" nonce="${nonce}">`,
    ]);
    expect(body).not.toMatch(/<[^>]*\s(?:style|on\w+)=|alert\(1\)<\/script>/);
    // Links lead elsewhere only when they are clicked.
    const loaded = body.replace(/<a [^>]*>/g, '');
    const urls = [...loaded.matchAll(/\b(?:src|href|action|srcset|poster|data)="([^"]*)"/g)].map(([, url]) => url);
    expect(urls.filter((url) => !/^(?:data:,|\/login(?:\/\w+){0,2})$/.test(url ?? ''))).toEqual([]);
    expect(loaded).not.toMatch(/url\(|@import|https?:\/\/|\bfetch\(['"`]/);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'strict-transport-security': expect.stringMatching(/^max-age=[1-9]\d{6,}/),
      'x-content-type-options': 'nosniff',
    });
  },
);

it('a page has another nonce each time', async () => {
  const policies = [1, 2].map(async () => (await visit('/login/other')).headers['content-security-policy']);
  expect(new Set(await Promise.all(policies)).size).toBe(2);
});

it.each(['/login/email', '/login/code', '/login/wallet', '/login/cancel'])(
  'a login that is not open gets 404, 409 or 410 from %s like from the page, and never a redirect',
  async (action) => {
    const { login, browser, page } = await fixture.arrive();
    const { token = '' } = formOf(page, '/login/cancel').fields;
    const typed = { token, email: 'ada@example.com', code: '123456', signature: `0x${'1'.repeat(130)}` };
    const expectReply = async (intent: string, status: number) =>
      expect(await browser.post(action, { ...typed, intent })).toMatchObject({ status, location: undefined });
    await expectReply(randomUUID(), 404);
    await expectReply((await completedLogin()).loginIntentId, 409);
    clock.advance(30 * MINUTE);
    await expectReply(login.loginIntentId, 410);
  },
);

describe('the cookie', () => {
  it('is HttpOnly, SameSite=Lax, Secure and __Host- over https, for the address too', async () => {
    const { page } = await fixture.arrive();
    expect(page.cookies).toEqual([
      expect.stringMatching(/^__Host-usher=[\w-]{43}; Max-Age=34560000; Path=\/; HttpOnly; Secure; SameSite=Lax$/),
    ]);
    const { cookies } = await postNew('/login/email', { 'content-type': FORM }, { email: 'a@b.test' });
    expect(cookies).toEqual([
      expect.stringMatching(
        /^usher-email-login=[\w-]{36}\.a@b\.test; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
      ),
    ]);
  });

  it('is HttpOnly and SameSite=Lax over http, without HSTS', async () => {
    await using plain = await fixture.startReplica({ publicUrl: 'http://usher.test' });
    const { page } = await fixture.arrive({ at: plain });
    expect(page.cookies).toEqual([
      expect.stringMatching(/^usher=[\w-]{43}; Max-Age=34560000; Path=\/; HttpOnly; SameSite=Lax$/),
    ]);
    expect(page.headers['strict-transport-security']).toBeUndefined();
  });

  it('is set once, and again if the browser sends one that is not ours', async () => {
    const { browser, login, page } = await fixture.arrive();
    expect((await browser.open(login.path)).cookies).toEqual([]);
    browser.cookie = '__Host-usher=mine';
    const again = await browser.open(login.path);
    expect(again.cookies).toHaveLength(1);
    expect(formOf(again, '/login/email').fields.token).not.toBe(formOf(page, '/login/email').fields.token);
  });

  it('is not in the page, nor is the form token in the cookie', async () => {
    const { browser, page } = await fixture.arrive();
    const secret = browser.cookie?.split('=')[1] ?? '';
    expect(secret).toHaveLength(43);
    expect(page.body).not.toContain(secret);
    expect(browser.cookie).not.toContain(formOf(page, '/login/email').fields.token);
  });
});

describe('a forged form', () => {
  it.each(['/login/email', '/login/code', '/login/wallet', '/login/wallet/challenge', '/login/cancel'])(
    'is refused with 403 by %s',
    async (action) => {
      const { login, browser, page } = await fixture.arrive();
      const foreign = formOf((await fixture.arrive()).page, '/login/cancel').fields.token;
      const { token = '' } = formOf(page, '/login/cancel').fields;
      expect(foreign).toHaveLength(token.length);
      const tokens = [undefined, foreign, token.slice(1), token.toUpperCase(), 'é'.repeat(token.length)];
      for (const given of tokens) {
        const typed = { intent: login.loginIntentId, email: 'ada@example.com', ...(given && { token: given }) };
        const { status, body, location } = await browser.post(action, typed);
        expect({ given, status, location }).toEqual({ given, status: 403, location: undefined });
        expect(body).toContain('That page was out of date');
      }
    },
  );
});

describe('a request', () => {
  it.each([
    ['PUT', '/login'],
    ['GET', '/login/email'],
    ['GET', '/login/'],
    ['GET', '/login/%2e%2e/healthz'],
  ])('of %s %s gets a page of status 404', async (method, path) => {
    const page = await new LoginBrowser(service).open(path, method);
    expect(page).toMatchObject({ status: 404, heading: 'There is no such page', cookies: [] });
  });

  it.each(['/logins', '/Login'])('for %s gets the 404 of the API', async (path) => {
    expect(await visit(path)).toMatchObject(JSON_404);
  });

  it('of HEAD gets the headers of GET', async () => {
    const { path } = await beginLogin(service, tenant);
    const shown = await visit(path);
    const { status, headers, body } = await new LoginBrowser(service).open(path, 'HEAD');
    expect({ status, body }).toEqual({ status: 200, body: '' });
    expect(headers['content-length']).toBe(shown.headers['content-length']);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
  });

  it('with a form above 8 KiB that does not announce its length gets 413', async () => {
    const headers = { 'content-type': FORM, 'transfer-encoding': 'chunked' };
    expect((await postNew('/login/email', headers, { email: 'x'.repeat(8_192) })).status).toBe(413);
  });

  it.each([
    ['Application/X-WWW-Form-Urlencoded; charset=UTF-8', 303],
    ['application/x-www-form-urlencodedx', 415],
  ])('with a form of type %s gets %d', async (type, status) => {
    expect((await postNew('/login/cancel', { 'content-type': type })).status).toBe(status);
  });
});

it('a person who cancels returns to the application with access_denied, the state and the issuer', async () => {
  const state = `"><script>alert(1)</script>'&=+ü\r\nSet-Cookie: evil=1`;
  const login = await beginLogin(service, tenant, { state });
  const browser = new LoginBrowser(service);
  const page = await browser.open(login.path);
  expect(page.body).not.toContain('evil=1');
  const { status, location = '', body, cookies } = await browser.submit(page, '/login/cancel');
  expect({ status, body, cookies }).toEqual({ status: 303, body: '', cookies: [] });
  expect(location).toMatch(/^[\x21-\x7e]+$/);
  expect(location.startsWith(`${REDIRECT_URI}?`)).toBe(true);
  expect([...new URL(location).searchParams]).toEqual([
    ['error', 'access_denied'],
    ['state', state],
    ['iss', PUBLIC_URL],
  ]);
});

describe('a page of status', () => {
  const heading = 'We cannot sign you in right now';

  it('503 is shown while the database is unavailable', async () => {
    const database = await cloneDatabase();
    await using lost = await LoginFixture.open({ database });
    const { browser, login, page } = await lost.arrive();
    await using hasty = await lost.startReplica({ requestTimeoutMs: 500 });
    await database[Symbol.asyncDispose]();
    const atHasty = browser.at(hasty);
    for (const reply of [await atHasty.open(login.path), await atHasty.submit(page, '/login/cancel')]) {
      expect(reply).toMatchObject({ status: 503, heading, location: undefined, headers: { 'retry-after': '1' } });
    }
  });

  it('500 reveals nothing of an unexpected error', async () => {
    await using broken = await LoginFixture.open();
    await broken.service.database.sql`alter table login_intents rename to moved`;
    const page = await visit(`/login?intent=${randomUUID()}`, broken.service);
    expect(page).toMatchObject({ status: 500, heading });
    expect(page.body).not.toContain('login_intents');
  });
});
