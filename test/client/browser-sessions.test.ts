import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Code } from '@connectrpc/connect';
import express from 'express';
import { Hono } from 'hono';
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { BrowserSessions } from '../../src/client/browser-sessions.ts';
import { createExpressSessions } from '../../src/client/express.ts';
import { createHonoSessions, type UsherEnv } from '../../src/client/hono.ts';
import { createUsherClient } from '../../src/client/usher-client.ts';
import { createWebSessions } from '../../src/client/web.ts';
import { MINUTE, TestClock } from '../support/clock.ts';
import { FOREIGN_PATHS } from '../support/foreign-paths.ts';
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
      expect.stringMatching(/^__Host-usher_login_[\w-]{43}=; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=0$/),
      expect.stringMatching(/^__Host-usher_session=[0-9a-f-]{36}; Path=\/; HttpOnly; SameSite=Lax; Secure$/),
      expect.stringMatching(/^__Host-usher_signed_in=\d+-1\.[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/),
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
    expect(cookies).toEqual([
      '__Host-usher_session=; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=0',
      '__Host-usher_signed_in=; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=0',
    ]);
    expect(await sessions.check(header)).toEqual({ session: undefined, cookies: [] });
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
    const jar = new Map<string, string>();
    const first = await sessions.startLogin(undefined);
    keep(jar, first.cookies);
    const second = await sessions.startLogin(cookieOf(jar));
    keep(jar, second.cookies);
    for (const { location } of [second, first]) {
      const finished = await sessions.finishLogin(cookieOf(jar), await complete(location));
      expect(finished.location).toBe('/');
      keep(jar, finished.cookies);
    }
    expect([...jar.keys()]).toEqual(['__Host-usher_session', '__Host-usher_signed_in']);
  });

  test('keeps the logins that it has started in its tabs, up to four, each in a cookie of its own', async () => {
    const sessions = createSessions();
    const jar = new Map<string, string>();
    for (let tab = 0; tab < 6; tab++) keep(jar, (await sessions.startLogin(cookieOf(jar))).cookies);
    expect(jar.size).toBe(4);
    const [first] = jar.keys();
    const { cookies } = await sessions.startLogin(cookieOf(jar));
    expect(cookies[0]).toMatch(new RegExp(`^${first}=; .*Max-Age=0$`));
    // A reply to one tab says nothing about the login of another.
    const finished = await signIn(sessions);
    expect(finished.cookies.filter((cookie) => /_login_/.test(cookie))).toHaveLength(1);
  });

  test('comes back to the page that it asked for, and to none of another site', async () => {
    const sessions = createSessions();
    const arrive = async (returnTo: string) => (await signIn(sessions, { returnTo })).location;
    expect(await arrive('/orders/7?tab=é&a=b;c')).toBe('/orders/7?tab=%C3%A9&a=b;c');
    const foreign = [...FOREIGN_PATHS, 'orders', '', '/'.repeat(600)];
    for (const path of foreign) expect(await arrive(path)).toBe('/');
  });

  test('that goes back to the callback goes home while it is signed in, and otherwise signs in anew, once', async () => {
    const sessions = createSessions();
    const login = await sessions.startLogin(undefined);
    const callback = await complete(login.location);
    const finished = await sessions.finishLogin(headerOf(login.cookies), callback);
    const jar = keep(new Map(), finished.cookies);
    expect(await sessions.finishLogin(cookieOf(jar), callback)).toEqual({ location: '/', cookies: [] });

    const anew = await sessions.finishLogin(undefined, callback);
    expect(anew.location).toContain(`${PUBLIC_URL}/login?intent=`);
    const again = sessions.finishLogin(undefined, await complete(anew.location));
    await expect(again).rejects.toMatchObject({ reason: 'state_mismatch', status: 400 });
    const signedIn = await sessions.finishLogin(
      headerOf(anew.cookies),
      await complete((await sessions.startLogin(undefined)).location),
    );
    expect(signedIn.location).toContain(`${PUBLIC_URL}/login?intent=`);
  });

  test('signs in anew with an auth token that has expired, and comes back to the page that it asked for', async () => {
    const sessions = createSessions();
    clock.advance(-20 * MINUTE);
    const login = await sessions.startLogin(undefined, { returnTo: '/orders/7' });
    const callback = await complete(login.location);
    clock.advance(20 * MINUTE);
    const anew = await sessions.finishLogin(headerOf(login.cookies), callback);
    expect(anew.location).toContain(`${PUBLIC_URL}/login?intent=`);
    // The login that failed leaves no cookie.
    const jar = keep(keep(new Map(), login.cookies), anew.cookies);
    expect([...jar.keys()]).toEqual([expect.stringMatching(/^__Host-usher_login_~/)]);
    expect((await sessions.finishLogin(cookieOf(jar), await complete(anew.location))).location).toBe('/orders/7');

    const signedIn = headerOf((await signIn(sessions)).cookies);
    const back = await sessions.finishLogin(`${signedIn}; ${headerOf(login.cookies)}`, callback);
    const removal = expect.stringMatching(/^__Host-usher_login_[^~].*Max-Age=0$/);
    expect(back).toEqual({ location: '/orders/7', cookies: [removal] });
  });

  test('signs out while Usher is away', async () => {
    const offline = createUsherClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'any' });
    const { cookies } = await createSessions({ client: offline }).signOut('__Host-usher_session=1');
    expect(cookies).toEqual([expect.stringMatching(/^__Host-usher_session=; .*Max-Age=0$/)]);
  });

  test('is not told that it has signed out where Usher refuses to end the session', async () => {
    const refused = createUsherClient({ baseUrl: service.url, apiKey: 'usk_revoked' });
    const signedOut = createSessions({ client: refused }).signOut('__Host-usher_session=1');
    await expect(signedOut).rejects.toThrow('Invalid API key');
  });

  test('costs one call for all requests of a page, and soon sees a revocation', async () => {
    let calls = 0;
    const counting = {
      ...client.sessions,
      checkSession: (...parameters: Parameters<typeof client.sessions.checkSession>) => {
        calls++;
        return client.sessions.checkSession(...parameters);
      },
    };
    const sessions = createSessions({ client: { ...client, sessions: counting }, maxStalenessMs: 200 });
    const header = headerOf((await signIn(sessions)).cookies);
    const found = await Promise.all(Array.from({ length: 50 }, () => sessions.check(header)));
    expect(found.every(({ session }) => session?.userId === user.id)).toBe(true);
    expect(calls).toBe(1);
    await client.sessions.revokeUserSessions({ userId: user.id });
    await expect.poll(async () => (await sessions.check(header)).session).toBeUndefined();
  });

  test('keeps what it has learnt of its session when an earlier call fails late', async () => {
    const first = Promise.withResolvers<never>();
    let calls = 0;
    const checkSession: typeof client.sessions.checkSession = (...parameters) =>
      ++calls === 1 ? first.promise : client.sessions.checkSession(...parameters);
    const sessions = createSessions({ client: { ...client, sessions: { ...client.sessions, checkSession } } });
    const header = headerOf((await signIn(sessions)).cookies);
    const failing = sessions.check(header);
    await sessions.signOut(header);
    expect((await sessions.check(header)).session).toBeUndefined();
    first.reject(new Error('late'));
    await expect(failing).rejects.toThrow('late');
    expect((await sessions.check(header)).session).toBeUndefined();
    expect(calls).toBe(2);
  });

  test('waits for an Usher that hangs once, and not for each page', async () => {
    let calls = 0;
    const hanging = createServer(() => {
      calls++;
    });
    await once(hanging.listen(0, '127.0.0.1'), 'listening');
    const { port } = hanging.address() as AddressInfo;
    const stuck = createUsherClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey: 'any' });
    const sessions = createSessions({ client: stuck, timeoutMs: 50 });
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    try {
      const failed = { code: Code.DeadlineExceeded, status: 503 };
      for (let page = 0; page < 3; page++) {
        await expect(sessions.check(`__Host-usher_session=${page}`)).rejects.toMatchObject(failed);
      }
      expect(calls).toBe(1);
      // Pages fail at once for a second, and then one asks again.
      vi.advanceTimersByTime(999);
      await expect(sessions.check('__Host-usher_session=1')).rejects.toMatchObject(failed);
      expect(calls).toBe(1);
      vi.advanceTimersByTime(1);
      await expect(sessions.check('__Host-usher_session=1')).rejects.toMatchObject(failed);
      expect(calls).toBe(2);
      expect((await sessions.signOut('__Host-usher_session=1')).location).toBe('/');
    } finally {
      vi.useRealTimers();
      hanging.closeAllConnections();
      hanging.close();
    }
  });

  test('goes home when its user cancels', async () => {
    const sessions = createSessions({ homePath: '/welcome' });
    const { location, cookies } = await sessions.startLogin(undefined);
    const state = /usher_login_([^=]+)=/.exec(cookies[0] ?? '')?.[1] ?? '';
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

  test('does not come back with a late renewal to a browser that has signed in anew', async () => {
    const renewing = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const renewSession: typeof client.sessions.renewSession = async (...parameters) => {
      renewing.resolve();
      await released.promise;
      return client.sessions.renewSession(...parameters);
    };
    const sessions = createSessions({ client: { ...client, sessions: { ...client.sessions, renewSession } } });
    clock.advance(-AGE_MS);
    const header = headerOf((await signIn(sessions)).cookies);
    clock.advance(AGE_MS);
    const late = sessions.check(header);
    await renewing.promise;
    user = await createTestUser(service);
    const login = await sessions.startLogin(header);
    await sessions.finishLogin(`${header}; ${headerOf(login.cookies)}`, await complete(login.location));
    released.resolve();
    expect((await late).cookies).toEqual([]);
    // Another browser of the first user still renews it.
    expect((await sessions.check(header)).cookies).toHaveLength(1);
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

  test('is not renewed for longer, which costs no more calls, and leaves the cookie to what may be a newer login', async () => {
    const { header } = await signInAndWait(76);
    let renewals = 0;
    const renewSession: typeof client.sessions.renewSession = (...parameters) => {
      renewals++;
      return client.sessions.renewSession(...parameters);
    };
    const sessions = new BrowserSessions({
      ...idle,
      client: { ...client, sessions: { ...client.sessions, renewSession } },
    });
    for (let page = 0; page < 3; page++)
      expect(await sessions.check(header)).toEqual({ session: undefined, cookies: [] });
    expect(renewals).toBe(1);
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
    expect(finished.headers.get('location')).toBe('/payment');
    const after = headerOf(finished.headers.getSetCookie());
    expect(await (await pay(after)).text()).toBe('paid');
  });

  test('is not for another browser, where the user has not signed in recently', async () => {
    const unattended = await signInAgo(6);
    expect((await pay(unattended)).status).toBe(303);
    const attended = await signInAgo(0);
    expect(await (await pay(attended)).text()).toBe('paid');
    expect((await pay(unattended)).status).toBe(303);
  });

  test('is not for a sign-in that was continued, that another application has signed, or that somebody made up', async () => {
    const header = await signInAgo(0);
    const [, at = '', signature = ''] = /usher_signed_in=(\d+)-1\.([\w-]+)/.exec(header) ?? [];
    expect(signature).toHaveLength(43);
    const signed = `${at}-1`;
    const session = header.replace(/; __Host-usher_signed_in=[^;]+/, '');
    expect((await pay(session)).status).toBe(303);
    const forged = [`${Number(at) + 1}-1.${signature}`, `${at}-3.${signature}`, `${at}.${signature}`];
    forged.push(`${signed}.${'A'.repeat(43)}`, signed, `.${signature}`);
    const other = createUsherClient({ baseUrl: service.url, apiKey: 'another key' });
    forged.push(`${signed}.${await other.sign(`sign-in of ${user.id} at ${signed}`)}`);
    for (const value of forged) expect((await pay(`${session}; __Host-usher_signed_in=${value}`)).status).toBe(303);
    expect(await (await pay(header)).text()).toBe('paid');
  });

  test('demands that the user signs in again, because a remembered sign-in is not fresh', async () => {
    const { headers } = await pay(await signInAgo(6));
    const [intent] = await service.database.sql`
      select prompt from login_intents where id = ${new URL(headers.get('location') ?? '').searchParams.get('intent')}`;
    expect(intent).toEqual({ prompt: 'LOGIN' });
  });

  test('is for nobody after a sign-out in this browser', async () => {
    const sessions = createSessions();
    const jar = keep(new Map(), (await signIn(sessions)).cookies);
    expect([...jar.keys()]).toContain('__Host-usher_signed_in');
    keep(jar, (await sessions.signOut(cookieOf(jar))).cookies);
    expect([...jar.keys()]).not.toContain('__Host-usher_signed_in');
  });

  test('is not for a session that was revoked a moment ago', async () => {
    const cookie = await signInAgo(0);
    expect((await pay(cookie)).status).toBe(200);
    await client.sessions.revokeUserSessions({ userId: user.id });
    expect((await pay(cookie)).status).toBe(303);
  });

  test.each([
    ['TWO_FACTORS', 1, false],
    ['TWO_FACTORS', 2, true],
    ['PHISHING_RESISTANT', 2, false],
    ['PHISHING_RESISTANT', 3, true],
  ] as const)('demands %s of a sign-in of level %d in this browser: passes %s', async (assurance, level, passes) => {
    const sessions = createSessions();
    const { location, cookies } = await sessions.startLogin(undefined);
    const own = headerOf((await sessions.finishLogin(headerOf(cookies), await complete(location, level))).cookies);
    // The session is that of the strongest sign-in now, and this browser's sign-in the same as before.
    clock.advance(1);
    const other = await sessions.startLogin(undefined);
    await sessions.finishLogin(headerOf(other.cookies), await complete(other.location, 3));
    const reply = await sessions.requireFreshSignIn(own, { assurance });
    expect(reply === undefined).toBe(passes);
    const forged = own.replace(/(signed_in=\d+)-\d/, '$1-3');
    expect((await sessions.requireFreshSignIn(forged, { assurance })) === undefined).toBe(level === 3);
    if (!reply) return;
    const loginIntentId = new URL(reply.location).searchParams.get('intent') ?? '';
    const { loginIntent } = await adminClient(service).getLoginIntent({ loginIntentId });
    expect(loginIntent).toMatchObject({ requiredAssurance: assurance, prompt: 'LOGIN', maxAgeSeconds: 900 });
    clock.advance(1);
    const after = await sessions.finishLogin(headerOf(reply.cookies), await complete(reply.location, 3));
    expect(await sessions.requireFreshSignIn(headerOf(after.cookies), { assurance })).toBeUndefined();
  });

  test('leads a user home who has left a login that demands more', async () => {
    const sessions = createSessions();
    const { location, cookies } = await sessions.startLogin(undefined, { requiredAssurance: 'PHISHING_RESISTANT' });
    const loginIntentId = new URL(location).searchParams.get('intent') ?? '';
    const { redirectUrl } = await adminClient(service).cancelLogin({ loginIntentId });
    expect(redirectUrl).toContain('error=unmet_authentication_requirements');
    expect(await sessions.finishLogin(headerOf(cookies), redirectUrl)).toMatchObject({ location: '/' });
  });

  test('demands a new sign-in each time with a maximum age of 0', async () => {
    const reply = await createSessions().requireFreshSignIn(await signInAgo(1), 0);
    const [intent] = await service.database.sql`
      select max_age_seconds from login_intents
      where id = ${new URL(reply?.location ?? PUBLIC_URL).searchParams.get('intent')}`;
    expect(intent).toEqual({ max_age_seconds: 0 });
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
      expect(refused.headers.getSetCookie()).toEqual([expect.stringContaining('__Host-usher_login_')]);
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
    .get('/orders', sessions.requireSignIn, (c) => c.text(c.get('usherSession')?.userId ?? ''))
    .get('/', sessions.checkSession, (c) => c.text(c.get('usherSession')?.user?.email ?? 'nobody'));
  const login = await app.request('/login');
  expect(login.status).toBe(303);
  const callback = await complete(login.headers.get('location') ?? '');
  expect((await app.request(callback)).headers.get('location')).toContain(`${PUBLIC_URL}/login?intent=`);
  expect((await app.request('/callback?state=~')).status).toBe(400);
  const cookie = headerOf(login.headers.getSetCookie());
  const finished = await app.request(callback, { headers: { cookie } });
  expect([finished.status, finished.headers.get('location')]).toEqual([303, '/']);
  const headers = { cookie: headerOf(finished.headers.getSetCookie()) };
  expect(await (await app.request('/', { headers })).text()).toBe(user.email);
  await app.request('/logout', { method: 'POST', headers });
  const signedOut = await app.request('/', { headers });
  expect(await signedOut.text()).toBe('nobody');
  // A sign-in counts from the instant after a revocation.
  clock.advance(1);
  const asked = await app.request('/orders?page=2');
  expect(asked.status).toBe(303);
  const back = await complete(asked.headers.get('location') ?? '');
  const arrived = await app.request(back, { headers: { cookie: headerOf(asked.headers.getSetCookie()) } });
  expect(arrived.headers.get('location')).toBe('/orders?page=2');
  const known = { cookie: headerOf(arrived.headers.getSetCookie()) };
  expect(await (await app.request('/orders?page=2', { headers: known })).text()).toBe(user.id);
});

test('Hono answers 503 while Usher is away', async () => {
  const offline = createUsherClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'any' });
  const { checkSession, requireSignIn, startLogin } = createHonoSessions({ ...optionsFor(), client: offline });
  const app = new Hono<UsherEnv>()
    .get('/', checkSession, (c) => c.text('home'))
    .get('/orders', requireSignIn, (c) => c.text('orders'))
    .get('/login', startLogin);
  const headers = { cookie: '__Host-usher_session=1' };
  for (const path of ['/', '/orders', '/login']) expect((await app.request(path, { headers })).status).toBe(503);
});

test('Express sends whoever asks for a page to Usher and back, and answers 503 while Usher is away', async () => {
  const start = async (options: Options) => {
    const { finishLogin, requireSignIn, startLogin } = createExpressSessions(options);
    const app = express();
    app.get('/callback', finishLogin);
    app.get('/login', startLogin);
    const orders = express.Router().get('/orders', requireSignIn, (request, response) => {
      response.send(request.usherSession?.userId);
    });
    app.use('/shop', orders);
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    return (path: string, cookie = '') =>
      fetch(new URL(path, `http://127.0.0.1:${port}`), { headers: { cookie }, redirect: 'manual' });
  };
  const open = await start(optionsFor());
  for (const path of ['/shop/orders?page=2', '/login?returnTo=/shop/orders%3Fpage=2']) {
    const asked = await open(path);
    expect(asked.status).toBe(303);
    const { pathname, search } = new URL(await complete(asked.headers.get('location') ?? ''));
    const arrived = await open(pathname + search, headerOf(asked.headers.getSetCookie()));
    expect(arrived.headers.get('location')).toBe('/shop/orders?page=2');
    expect(await (await open('/shop/orders', headerOf(arrived.headers.getSetCookie()))).text()).toBe(user.id);
  }
  const offline = createUsherClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'any' });
  const refuse = await start({ ...optionsFor(), client: offline });
  for (const path of ['/shop/orders', '/login'])
    expect((await refuse(path, '__Host-usher_session=1')).status).toBe(503);
});

test('requests of the web sign users in and out', async () => {
  const sessions = createWebSessions({ ...optionsFor(), maxStalenessMs: 0 });
  const request = (url: string, cookie = '') => new Request(new URL(url, REDIRECT_URI), { headers: { cookie } });
  const login = await sessions.startLogin(request('/login?returnTo=/orders'));
  const callback = await complete(login.headers.get('location') ?? '');
  const finished = await sessions.finishLogin(request(callback, headerOf(login.headers.getSetCookie())));
  expect([finished.status, finished.headers.get('location')]).toEqual([303, '/orders']);
  const cookie = headerOf(finished.headers.getSetCookie());
  expect((await sessions.checkSession(request('/', cookie))).session?.userId).toBe(user.id);
  expect((await sessions.signOut(request('/logout', cookie))).status).toBe(303);
  expect((await sessions.checkSession(request('/', cookie))).session).toBeUndefined();
  expect((await sessions.finishLogin(request('/callback?state=~'))).status).toBe(400);
  const offline = createUsherClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'any' });
  const away = createWebSessions({ ...optionsFor(), client: offline });
  expect((await away.startLogin(request('/login'))).status).toBe(503);
});

describe.each(['Express', 'Hono', 'requests of the web'] as const)('with %s', (framework) => {
  test('no cache keeps a reply that signs a browser in or out', async () => {
    const ask = await serve(framework);
    const login = await ask('GET', '/login');
    const callback = new URL(await complete(login.headers.get('location') ?? ''));
    const finished = await ask('GET', `/callback${callback.search}`, headerOf(login.headers.getSetCookie()));
    expect(finished.headers.getSetCookie()).toHaveLength(3);
    const signedOut = await ask('POST', '/logout', headerOf(finished.headers.getSetCookie()));
    for (const { status, headers } of [login, finished, signedOut])
      expect([status, headers.get('cache-control')]).toEqual([303, 'no-store']);
  });
});

test.each(['Express', 'Hono'] as const)(
  'with %s, a POST without a session leads home after the sign-in, because a redirect cannot repeat it',
  async (framework) => {
    const ask = await serve(framework);
    const asked = await ask('POST', '/orders');
    const callback = new URL(await complete(asked.headers.get('location') ?? ''));
    const arrived = await ask('GET', `/callback${callback.search}`, headerOf(asked.headers.getSetCookie()));
    expect(arrived.headers.get('location')).toBe('/');
  },
);

type Ask = (method: string, path: string, cookie?: string) => Promise<Response>;

/** Starts an application with the routes of a login, and a page that needs a session. Returns what sends it a request. */
async function serve(framework: 'Express' | 'Hono' | 'requests of the web'): Promise<Ask> {
  if (framework === 'Express') {
    const sessions = createExpressSessions(optionsFor());
    const app = express();
    app.get('/login', sessions.startLogin).get('/callback', sessions.finishLogin).post('/logout', sessions.signOut);
    app.all('/orders', sessions.requireSignIn, (_, response) => void response.end());
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return (method, path, cookie = '') => fetch(origin + path, { method, headers: { cookie }, redirect: 'manual' });
  }
  if (framework === 'Hono') {
    const sessions = createHonoSessions(optionsFor());
    const app = new Hono<UsherEnv>()
      .get('/login', sessions.startLogin)
      .get('/callback', sessions.finishLogin)
      .post('/logout', sessions.signOut)
      .all('/orders', sessions.requireSignIn, (c) => c.body(null));
    return async (method, path, cookie = '') => app.request(path, { method, headers: { cookie } });
  }
  const { startLogin, finishLogin, signOut } = createWebSessions(optionsFor());
  const handlers = new Map([
    ['/login', startLogin],
    ['/callback', finishLogin],
    ['/logout', signOut],
  ]);
  return (method, path, cookie = '') => {
    const url = new URL(path, REDIRECT_URI);
    return handlers.get(url.pathname)?.(new Request(url, { method, headers: { cookie } })) ?? Promise.reject(path);
  };
}

type Options = ConstructorParameters<typeof BrowserSessions>[0];

function optionsFor(): Options {
  return { client, clientId: tenant.clientId, redirectUri: REDIRECT_URI, issuer: PUBLIC_URL };
}

function createSessions(options: Partial<Options> = {}): BrowserSessions {
  return new BrowserSessions({ ...optionsFor(), ...options });
}

async function signIn(sessions: BrowserSessions, options: Parameters<BrowserSessions['startLogin']>[1] = {}) {
  const { location, cookies } = await sessions.startLogin(undefined, options);
  return sessions.finishLogin(headerOf(cookies), await complete(location));
}

/** Signs the user in at Usher. Returns where the browser is sent. */
async function complete(authUrl: string, assurance = 1): Promise<string> {
  const loginIntentId = new URL(authUrl).searchParams.get('intent') ?? '';
  return (await adminClient(service).completeLogin({ loginIntentId, userId: user.id, assurance })).redirectUrl;
}

/** Applies what a reply sets to the cookies of a browser. */
function keep(jar: Map<string, string>, cookies: readonly string[]): Map<string, string> {
  for (const cookie of cookies) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
    if (/Max-Age=0/.test(cookie)) jar.delete(name);
    else jar.set(name, value);
  }
  return jar;
}

function cookieOf(jar: ReadonlyMap<string, string>): string {
  return [...jar].map((pair) => pair.join('=')).join('; ');
}

/** Returns the `Cookie` header of a browser that got these cookies. */
function headerOf(cookies: readonly string[]): string {
  return cookies.map((cookie) => cookie.split(';')[0]).join('; ');
}
