import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Hono } from 'hono';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { BrowserSessions } from '../../src/client/browser-sessions.ts';
import { createExpressSessions } from '../../src/client/express.ts';
import { createHonoSessions, type UsherEnv } from '../../src/client/hono.ts';
import { createUsherClient } from '../../src/client/usher-client.ts';
import { MINUTE, TestClock } from '../support/clock.ts';
import {
  adminClient,
  createTenant,
  createTestUser,
  PUBLIC_URL,
  REDIRECT_URI,
  startTestService,
  type TestUser,
} from '../support/service.ts';

/** Sessions begin in the past, so that they can be renewed now. */
const AGE_MS = 8 * MINUTE;

let user: TestUser;

const clock = new TestClock();
const service = await startTestService({ clock: clock.read });
const tenant = await createTenant(service, { redirectUris: [REDIRECT_URI, 'http://127.0.0.1/callback'] });
const client = createUsherClient({ baseUrl: service.url, apiKey: tenant.apiKey });

beforeEach(async () => {
  user = await createTestUser(service);
});

afterAll(() => service.close());

describe('a browser', () => {
  test('is signed in by a cookie that scripts and other sites cannot read', async () => {
    const { cookies, location } = await signIn(createSessions());
    expect(cookies).toEqual([
      '__Host-usher_login=; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=0',
      expect.stringMatching(/^__Host-usher_session=[0-9a-f-]{36}; Path=\/; HttpOnly; SameSite=Lax; Secure$/),
    ]);
    expect(location).toBe('/');
  });

  test("gets its cookie without TLS on a developer's machine", async () => {
    const sessions = createSessions({ redirectUri: 'http://127.0.0.1:3000/callback' });
    const { cookies } = await signIn(sessions);
    expect(cookies[1]).toMatch(/^usher_session=[^;]+; Path=\/; HttpOnly; SameSite=Lax$/);
  });

  test('has the session of its user, until it signs out', async () => {
    const sessions = createSessions({ maxStalenessMs: 0 });
    const header = headerOf((await signIn(sessions)).cookies);
    expect(await sessions.check(header)).toMatchObject({ session: { user: { email: user.email } }, cookies: [] });
    const { cookies } = await sessions.signOut(header);
    expect(cookies).toEqual(['__Host-usher_session=; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=0']);
    expect(await sessions.check(header)).toEqual({ session: undefined, cookies });
  });

  test.each([
    ['no cookie', undefined],
    ['other cookies', 'session=1; usher_session=2; x__Host-usher_session=3'],
  ])('has no session with %s, which costs no call', async (_, header) => {
    const offline = createUsherClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'any' });
    const sessions = createSessions({ client: offline });
    expect(await sessions.check(header)).toEqual({ session: undefined, cookies: [] });
    expect((await sessions.signOut(header)).location).toBe('/');
  });

  test('is not signed out while Usher cannot tell', async () => {
    const offline = createUsherClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'any' });
    await expect(createSessions({ client: offline }).check('__Host-usher_session=1')).rejects.toThrow('unavailable');
  });

  test('finishes each of the logins that it has started in its tabs, once', async () => {
    const sessions = createSessions();
    const first = await sessions.startLogin(undefined);
    const second = await sessions.startLogin(headerOf(first.cookies));
    const finished = await sessions.finishLogin(headerOf(second.cookies), await complete(first.location));
    const header = headerOf(finished.cookies);
    expect((await sessions.finishLogin(header, await complete(second.location))).location).toBe('/');
    const again = sessions.finishLogin(header, await complete((await sessions.startLogin(undefined)).location));
    await expect(again).rejects.toMatchObject({ reason: 'state_mismatch' });
  });

  test('goes home when its user cancels', async () => {
    const sessions = createSessions({ homePath: '/welcome' });
    const { location, cookies } = await sessions.startLogin(undefined);
    const state = /usher_login=([^;]+)/.exec(cookies[0] ?? '')?.[1] ?? '';
    const query = new URLSearchParams({ error: 'access_denied', state, iss: PUBLIC_URL });
    expect(location).toContain(PUBLIC_URL);
    expect(await sessions.finishLogin(headerOf(cookies), `/callback?${query}`)).toEqual({
      location: '/welcome',
      cookies: [expect.stringContaining('Max-Age=0')],
    });
  });
});

describe('a session', () => {
  test('is renewed in the second half of its life', async () => {
    const sessions = createSessions();
    clock.advance(-AGE_MS);
    const before = headerOf((await signIn(sessions)).cookies);
    clock.advance(AGE_MS);
    const { session, cookies } = await sessions.check(before);
    expect(session?.user?.email).toBe(user.email);
    expect(cookies).toEqual([expect.stringMatching(/^__Host-usher_session=[0-9a-f-]{36}; /)]);
    const after = headerOf(cookies);
    expect(after).not.toContain(/session=([^;]+)/.exec(before)?.[1]);
    expect(await sessions.check(after)).toMatchObject({ session: { user: { email: user.email } }, cookies: [] });
    // Another request of the browser, which was on its way, gets the same successor.
    expect((await sessions.check(before)).cookies).toEqual(cookies);
  });

  test('lives on when it cannot be renewed', async () => {
    const unrenewable = {
      ...client,
      sessions: { ...client.sessions, renewSession: () => Promise.reject(new Error()) },
    };
    const sessions = createSessions({ client: unrenewable });
    clock.advance(-AGE_MS);
    const { cookies } = await signIn(sessions);
    clock.advance(AGE_MS);
    expect(await sessions.check(headerOf(cookies))).toMatchObject({ session: { userId: user.id }, cookies: [] });
  });
});

describe('a session that has expired', () => {
  /** The expiry job of the service may not remove it meanwhile. */
  const idle = { ...optionsFor(), idleSeconds: 3_600 };

  beforeEach(async () => {
    await adminClient(service).updateApplication({ applicationId: tenant.id, sessionIdleSeconds: 3_600 });
  });

  async function signInAndWait(minutes: number) {
    const sessions = new BrowserSessions(idle);
    clock.advance(-minutes * MINUTE);
    const { cookies } = await signIn(sessions);
    clock.advance(minutes * MINUTE);
    return { sessions, cookies, header: headerOf(cookies) };
  }

  test('is renewed while the application allows it, by a cookie that outlives the browser', async () => {
    const { sessions, cookies, header } = await signInAndWait(60);
    expect(cookies[1]).toMatch(/; Secure; Max-Age=3600$/);
    const renewed = await sessions.check(header);
    expect(renewed.session?.user?.email).toBe(user.email);
    expect(renewed.cookies).toEqual([expect.stringMatching(/^__Host-usher_session=[0-9a-f-]{36}; .*; Max-Age=3600$/)]);
    // Another request of the browser, which was on its way, gets the same successor.
    expect((await sessions.check(header)).cookies).toEqual(renewed.cookies);
    const after = headerOf(renewed.cookies);
    expect(await sessions.check(after)).toMatchObject({ session: { userId: user.id }, cookies: [] });
  });

  test('is not renewed for longer, and its cookie goes', async () => {
    const { sessions, header } = await signInAndWait(76);
    const cookies = [expect.stringMatching(/^__Host-usher_session=; .*; Max-Age=0$/)];
    expect(await sessions.check(header)).toEqual({ session: undefined, cookies });
  });

  test('ends when its user signs out', async () => {
    const { sessions, header } = await signInAndWait(60);
    await sessions.signOut(header);
    expect((await sessions.check(header)).session).toBeUndefined();
  });

  test('keeps its cookie while Usher cannot renew it', async () => {
    const { header } = await signInAndWait(60);
    const failing = {
      ...client,
      sessions: { ...client.sessions, renewSession: () => Promise.reject(new Error('busy')) },
    };
    await expect(new BrowserSessions({ ...idle, client: failing }).check(header)).rejects.toThrow('busy');
  });
});

describe('what needs a fresh sign-in', () => {
  const MAX_AGE_SECONDS = 300;
  const { checkSession, finishLogin, requireFreshSignIn } = createHonoSessions(optionsFor());
  const app = new Hono<UsherEnv>()
    .get('/callback', finishLogin)
    .get('/payment', checkSession, requireFreshSignIn(MAX_AGE_SECONDS), (c) => c.text('paid'));

  async function signInAgo(minutes: number): Promise<string> {
    clock.advance(-minutes * MINUTE);
    const header = headerOf((await signIn(createSessions())).cookies);
    clock.advance(minutes * MINUTE);
    return header;
  }

  const pay = (cookie: string) => app.request('/payment', { headers: { cookie } });

  test('is for a user who has just signed in', async () => {
    expect(await (await pay(await signInAgo(4))).text()).toBe('paid');
  });

  test('sends others to Usher, and is for them from then on', async () => {
    const cookie = await signInAgo(6);
    const reply = await pay(cookie);
    expect(reply.status).toBe(303);
    const authUrl = reply.headers.get('location') ?? '';
    const [intent] = await service.database.sql`
      select max_age_seconds from login_intents where id = ${new URL(authUrl).searchParams.get('intent')}`;
    expect(intent).toEqual({ max_age_seconds: MAX_AGE_SECONDS });

    const login = headerOf(reply.headers.getSetCookie());
    const finished = await app.request(await complete(authUrl), { headers: { cookie: login } });
    expect(finished.headers.get('location')).toBe('/');
    const after = headerOf(finished.headers.getSetCookie());
    expect(await (await pay(after)).text()).toBe('paid');
  });

  test('sends whoever is not signed in to Usher', async () => {
    for (const cookie of ['', '__Host-usher_session=none']) expect((await pay(cookie)).status).toBe(303);
  });

  test('is the same with Express', async () => {
    const requireFresh = createExpressSessions(optionsFor()).requireFreshSignIn(MAX_AGE_SECONDS);
    const server = createServer((request, response) => requireFresh(request, response, () => response.end('paid')));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const payAt = (cookie: string) => fetch(`http://127.0.0.1:${port}`, { headers: { cookie }, redirect: 'manual' });
    try {
      const refused = await payAt(await signInAgo(6));
      expect(refused.status).toBe(303);
      expect(refused.headers.getSetCookie()).toEqual([expect.stringContaining('__Host-usher_login=')]);
      expect(await (await payAt(await signInAgo(4))).text()).toBe('paid');
    } finally {
      server.close();
    }
  });
});

test('Hono signs users in and out', async () => {
  const sessions = createHonoSessions({ ...optionsFor(), maxStalenessMs: 0 });
  const app = new Hono<UsherEnv>()
    .get('/login', sessions.startLogin)
    .get('/callback', sessions.finishLogin)
    .post('/logout', sessions.signOut)
    .get('/', sessions.checkSession, (c) => c.text(c.get('usherSession')?.user?.email ?? 'nobody'));
  const login = await app.request('/login');
  expect(login.status).toBe(303);
  const callback = await complete(login.headers.get('location') ?? '');
  expect((await app.request(callback)).status).toBe(400);
  const cookie = headerOf(login.headers.getSetCookie());
  const finished = await app.request(callback, { headers: { cookie } });
  expect([finished.status, finished.headers.get('location')]).toEqual([303, '/']);
  const headers = { cookie: headerOf(finished.headers.getSetCookie()) };
  expect(await (await app.request('/', { headers })).text()).toBe(user.email);
  await app.request('/logout', { method: 'POST', headers });
  const signedOut = await app.request('/', { headers });
  expect(await signedOut.text()).toBe('nobody');
  expect(signedOut.headers.getSetCookie()).toEqual([expect.stringContaining('Max-Age=0')]);
});

type Options = ConstructorParameters<typeof BrowserSessions>[0];

function optionsFor(): Options {
  return { client, clientId: tenant.clientId, redirectUri: REDIRECT_URI, issuer: PUBLIC_URL };
}

function createSessions(options: Partial<Options> = {}): BrowserSessions {
  return new BrowserSessions({ ...optionsFor(), ...options });
}

async function signIn(sessions: BrowserSessions) {
  const { location, cookies } = await sessions.startLogin(undefined);
  return sessions.finishLogin(headerOf(cookies), await complete(location));
}

/** Signs the user in at Usher. Returns where the browser is sent. */
async function complete(authUrl: string): Promise<string> {
  const loginIntentId = new URL(authUrl).searchParams.get('intent') ?? '';
  return (await adminClient(service).completeLogin({ loginIntentId, userId: user.id })).redirectUrl;
}

/** Returns the `Cookie` header of a browser that got these cookies. */
function headerOf(cookies: readonly string[]): string {
  return cookies.map((cookie) => cookie.split(';')[0]).join('; ');
}
