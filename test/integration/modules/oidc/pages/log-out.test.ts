/** The logout endpoint: what ends, and where the browser goes. */

import { createPrivateKey } from 'node:crypto';
import { decodeJwt, SignJWT } from 'jose';
import { afterAll, describe, expect, it } from 'vitest';
import { openAccount } from '../../../../support/account-page.ts';
import { HOUR } from '../../../../support/clock.ts';
import { request } from '../../../../support/http.ts';
import { LoginBrowser } from '../../../../support/login-browser.ts';
import { LoginFixture } from '../../../../support/login-fixture.ts';
import {
  authorizationOf,
  beginOidcLogin,
  CODE_VERIFIER,
  createRsaJwk,
  parametersOf,
} from '../../../../support/oidc.ts';
import { getUserinfo, redeem, refresh } from '../../../../support/oidc-client.ts';
import { adminClient, clientsOf, createTenant, createTestUser, type TestUser } from '../../../../support/service.ts';

type Changes = Readonly<Record<string, string | undefined>>;

const OUT = 'https://app.test/out?a=b';
const SIGNED_OUT = { status: 200, heading: 'You are signed out', location: undefined };
const ASKED = { status: 200, heading: 'Do you want to sign out?', location: undefined };
const NOT_SIGNED_OUT = { status: 200, heading: 'You may still be signed in', location: undefined };

const [key, oldKey, foreignKey] = [createRsaJwk('new'), createRsaJwk('old'), createRsaJwk('new')];
const fixture = await LoginFixture.open({ oidcSigningKeys: [key, oldKey] });
const { service, clock } = fixture;
afterAll(() => fixture.close());
const admin = adminClient(service);
const fields = { openIdConnect: true, singleSignOn: true, postLogoutRedirectUris: [OUT, 'http://127.0.0.1/out'] };
const of = await createTenant(service, { name: 'Shop', ...fields });
const other = await createTenant(service, fields);
const API = 'https://api.app.test';
await admin.updateApplication({
  ...{
    applicationId: (await createTenant(service, fields)).id,
    resourceUri: API,
    machineClientIds: [of.clientId],
  },
});

async function signIn(
  options: { user?: TestUser; browser?: LoginBrowser; at?: typeof of; resource?: string | undefined } = {},
) {
  const at = options.at ?? of;
  const browser = options.browser ?? new LoginBrowser(service);
  const login = await beginOidcLogin(browser, at, { prompt: 'login', resource: options.resource });
  const by = { of: at, browser, login };
  const { enter, code: typed, user } = await fixture.askForCode({ ...by, ...(options.user && { user: options.user }) });
  const { code = '' } = parametersOf((await enter(typed)).location);
  const { body } = await redeem(service, at, code, { verifier: CODE_VERIFIER, resource: options.resource });
  return { browser, user, tokens: body, idToken: body.id_token ?? '' };
}

function logOut(browser: LoginBrowser, parameters: Changes) {
  const entries = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return browser.open(`/oidc/logout?${new URLSearchParams(entries)}`);
}

/** Whether the tokens of the sign-in still work. */
async function isLive({ tokens }: Awaited<ReturnType<typeof signIn>>, at = of): Promise<boolean[]> {
  const { status } = await getUserinfo(service, tokens.access_token);
  return [status === 200, (await refresh(service, at, tokens.refresh_token)).status === 200];
}

async function isRemembered(browser: LoginBrowser, at = of): Promise<boolean> {
  const { location } = await browser.open(`/oidc/authorize?${authorizationOf(at, { prompt: 'none' })}`);
  return parametersOf(location).code !== undefined;
}

const sign = (claims: Record<string, unknown>, jwk = key, typ = 'JWT') =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: 'RS256', typ, kid: jwk.kid ?? '' })
    .sign(createPrivateKey({ key: { ...jwk }, format: 'jwk' }));

describe('with the ID token of a login', () => {
  it('ends it, forgets the sign-in of the browser and redirects with the state', async () => {
    const signedIn = await signIn();
    const { browser, idToken: id_token_hint } = signedIn;
    const request = { id_token_hint, client_id: of.clientId, post_logout_redirect_uri: OUT, state: 'a & b' };
    const { status, location } = await logOut(browser, request);
    expect([status, location]).toEqual([303, `${OUT}&state=a+%26+b`]);
    expect(await isLive(signedIn)).toEqual([false, false]);
    expect(await isRemembered(browser)).toBe(false);
  });

  it('ends tokens at once that were in use until then', async () => {
    const signedIn = await signIn();
    expect(await isLive(signedIn)).toEqual([true, true]);
    await logOut(new LoginBrowser(service), { id_token_hint: signedIn.idToken });
    expect(await isLive(signedIn)).toEqual([false, false]);
  });

  it('is in the audit log without the address of the person', async () => {
    const { browser, user, idToken } = await signIn();
    await logOut(browser, { id_token_hint: idToken });
    const events = await service.database.sql`
      select actor_type, ip_address from audit_events where resource = ${user.id} and action = 'GET /oidc/logout'`;
    expect(events).not.toEqual([]);
    for (const event of events) expect(event).toEqual({ actor_type: 'login_page', ip_address: '' });
  });

  it('signs the user out of the account page in that browser, and nobody else', async () => {
    const user = await createTestUser(service);
    const { browser } = await openAccount(fixture, user);
    const isOpen = async () => (await browser.open('/account')).heading !== 'Your account';
    const other = await signIn({ browser });
    await logOut(browser, { id_token_hint: other.idToken });
    expect(await isOpen()).toBe(true);
    const own = await signIn({ browser, user });
    await logOut(browser, { id_token_hint: own.idToken });
    expect(await isOpen()).toBe(false);
  });

  it('takes a form, and leaves out a state that there is none of', async () => {
    const { browser, idToken: id_token_hint } = await signIn();
    const { status, location } = await browser.post('/oidc/logout', { id_token_hint, post_logout_redirect_uri: OUT });
    expect([status, location]).toEqual([303, OUT]);
  });

  it('leads to any port of a loopback address, as redirect URIs do', async () => {
    const { browser, idToken: id_token_hint } = await signIn();
    const uri = 'http://127.0.0.1:5173/out';
    const { status, location } = await logOut(browser, { id_token_hint, post_logout_redirect_uri: uri });
    expect([status, location]).toEqual([303, uri]);
  });

  it.each<[string, Changes]>([
    ['without a place to go to', {}],
    ['with one that is not registered', { post_logout_redirect_uri: `${OUT}&c=d`, state: 'a' }],
    ['with one of another port', { post_logout_redirect_uri: 'https://app.test:8443/out?a=b' }],
  ])('shows a page %s', async (_, more) => {
    const signedIn = await signIn();
    const page = await logOut(signedIn.browser, { id_token_hint: signedIn.idToken, ...more });
    expect(page).toMatchObject(SIGNED_OUT);
    expect(page.body).toContain('href="https://app.test"');
    expect(await isLive(signedIn)).toEqual([false, false]);
    const again = await signIn(signedIn);
    expect(await signedIn.browser.switchLanguage(page, 'de')).toMatchObject({ heading: 'Sie sind abgemeldet' });
    expect(await isLive(again)).toEqual([true, true]);
  });

  it('ends that of the browser alone, of that user and application alone', async () => {
    const user = await createTestUser(service);
    const phone = await signIn({ user });
    const laptop = await signIn({ user });
    const elsewhere = await signIn({ user, browser: phone.browser, at: other });
    const stranger = await signIn();
    await logOut(phone.browser, { id_token_hint: phone.idToken });
    expect(await isLive(phone)).toEqual([false, false]);
    expect([await isLive(laptop), await isLive(elsewhere, other), await isLive(stranger)]).toEqual(
      Array.from({ length: 3 }, () => [true, true]),
    );
    expect(await isRemembered(laptop.browser)).toBe(true);
  });

  it('forgets the sign-in of no other user in the browser', async () => {
    const first = await signIn();
    await signIn({ browser: first.browser });
    await logOut(first.browser, { id_token_hint: first.idToken });
    expect(await isRemembered(first.browser)).toBe(true);
  });

  it('ends all sessions of the user at the application if the token names no browser', async () => {
    const signedIn = await signIn();
    const { sid, ...claims } = decodeJwt(signedIn.idToken);
    expect(sid).toBeDefined();
    expect(await logOut(signedIn.browser, { id_token_hint: await sign(claims) })).toMatchObject(SIGNED_OUT);
    expect(await isLive(signedIn)).toEqual([false, false]);
  });

  it('takes one that has expired, or that an old key has signed', async () => {
    const signedIn = await signIn();
    clock.advance(HOUR);
    const hint = await sign(decodeJwt(signedIn.idToken), oldKey);
    expect(await logOut(signedIn.browser, { id_token_hint: hint })).toMatchObject(SIGNED_OUT);
    expect(await isLive(signedIn)).toEqual([false, false]);
  });
});

it('signs its user out of the browser in which it comes, too, if the user is signed in there', async () => {
  const user = await createTestUser(service);
  const [phone, laptop] = [await signIn({ user }), await signIn({ user })];
  await logOut(laptop.browser, { id_token_hint: phone.idToken });
  expect(await isLive(phone)).toEqual([false, false]);
  expect(await isRemembered(laptop.browser)).toBe(false);
});

it('ends codes that the user has got in the browser, also where that remembers no sign-in', async () => {
  const [at, next] = [
    await createTenant(service, { openIdConnect: true }),
    await createTenant(service, { openIdConnect: true }),
  ];
  const { browser, user, idToken } = await signIn({ at });
  const { enter, code: typed } = await fixture.askForCode({
    of: next,
    browser,
    user,
    login: await beginOidcLogin(browser, next),
  });
  const { code = '' } = parametersOf((await enter(typed)).location);
  clock.advance(1);
  await logOut(browser, { id_token_hint: idToken });
  expect((await redeem(service, next, code, { verifier: CODE_VERIFIER })).body).toMatchObject({
    error: 'invalid_grant',
  });
});

it('stores nothing about a browser in which the user of the ID token is not signed in', async () => {
  const [signedIn, stranger] = [await signIn(), await signIn()];
  expect(await logOut(stranger.browser, { id_token_hint: signedIn.idToken })).toMatchObject(SIGNED_OUT);
  expect(await isLive(signedIn)).toEqual([false, false]);
  expect(await service.database.sql`select from browser_cutoffs where user_id = ${signedIn.user.id}`).toEqual([]);
  expect(await isRemembered(stranger.browser)).toBe(true);
});

describe('with an ID token that is older than a login can be', () => {
  const back = { client_id: of.clientId, post_logout_redirect_uri: OUT };

  it('by a fraction of a second ends the login, from any browser', async () => {
    clock.advance(1_500 - (clock.read().getTime() % 1_000));
    const signedIn = await signIn();
    const { iat = 0 } = decodeJwt(signedIn.idToken);
    clock.advance(iat * 1_000 + 12 * HOUR - clock.read().getTime());
    expect(await isLive(signedIn)).toEqual([false, true]);
    await logOut(new LoginBrowser(service), { id_token_hint: signedIn.idToken });
    expect(await isLive(signedIn)).toEqual([false, false]);
  });

  it.each([
    ['', undefined],
    [' at a resource', API],
  ])('ends a later login%s of the same browser, and leads back', async (_, resource) => {
    const { browser, user, idToken: id_token_hint } = await signIn({ resource });
    clock.advance(13 * HOUR);
    const later = await signIn({ browser, user, resource });
    expect((await logOut(browser, { ...back, id_token_hint })).location).toBe(OUT);
    expect(await isLive(later)).toEqual([false, false]);
    expect(await isRemembered(browser)).toBe(false);
  });

  it('asks in another browser, and leads back from one in which nobody is signed in', async () => {
    const { user, idToken: id_token_hint } = await signIn();
    clock.advance(13 * HOUR);
    const later = await signIn({ user });
    const asked = await logOut(later.browser, { ...back, id_token_hint });
    expect(asked).toMatchObject(ASKED);
    expect((await logOut(new LoginBrowser(service), { ...back, id_token_hint })).location).toBe(OUT);
    expect(await isLive(later)).toEqual([true, true]);
    expect((await later.browser.submit(asked, '/oidc/logout')).location).toBe(OUT);
    expect(await isLive(later)).toEqual([false, false]);
  });
});

describe('a form without the cookie of the browser, as another site sends it', () => {
  it('comes back as a GET with its parameters, and then ends everything here', async () => {
    const { browser, idToken: id_token_hint } = await signIn();
    clock.advance(1);
    const form = { id_token_hint, post_logout_redirect_uri: OUT, state: 'a & b' };
    const { status, headers } = await request(service.url, {
      path: '/oidc/logout',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ ...form, more: 'x' }).toString(),
    });
    const location = String(headers.location);
    expect([status, location]).toEqual([303, `/oidc/logout?${new URLSearchParams(form)}`]);
    expect((await browser.open(location)).location).toBe(`${OUT}&state=a+%26+b`);
    expect(await isRemembered(browser)).toBe(false);
  });

  it.each([
    [6_000, 303],
    [6_001, 200],
  ])('comes back if its %i characters fit into an address: %i', async (length, status) => {
    const body = 'id_token_hint=x&state='.padEnd(length, 'a');
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await request(service.url, { path: '/oidc/logout', headers, body })).status).toBe(status);
  });

  it('is answered at once if it is too long for an address', async () => {
    const signedIn = await signIn();
    const form = { id_token_hint: signedIn.idToken, post_logout_redirect_uri: OUT, state: 'a'.repeat(6_000) };
    const { location } = await new LoginBrowser(service).post('/oidc/logout', form);
    expect(location?.startsWith(OUT)).toBe(true);
    expect(await isLive(signedIn)).toEqual([false, false]);
    expect(await isRemembered(signedIn.browser)).toBe(false);
  });
});

describe('without a valid ID token', () => {
  it.each<[string, (idToken: string) => Promise<Changes> | Changes]>([
    ['of none', () => ({})],
    ['that is empty', () => ({ id_token_hint: '' })],
    ['of two', (idToken) => ({ id_token_hint: `${idToken}&id_token_hint=${idToken}` })],
    ['for another client', (idToken) => ({ id_token_hint: idToken, client_id: other.clientId })],
    ['that is damaged', (idToken) => ({ id_token_hint: `${idToken}AA` })],
    ['of a foreign key', async (idToken) => ({ id_token_hint: await sign(decodeJwt(idToken), foreignKey) })],
    [
      'of another issuer',
      async (idToken) => ({ id_token_hint: await sign({ ...decodeJwt(idToken), iss: 'https://a' }) }),
    ],
    ['of no user', async (idToken) => ({ id_token_hint: await sign({ ...decodeJwt(idToken), sub: 'ada' }) })],
    ['of no client', async (idToken) => ({ id_token_hint: await sign({ ...decodeJwt(idToken), aud: 'x' }) })],
    ['of another type', async (idToken) => ({ id_token_hint: await sign(decodeJwt(idToken), key, 'logout+jwt') })],
    ['without an age', async (idToken) => ({ id_token_hint: await sign({ ...decodeJwt(idToken), iat: undefined }) })],
  ])('%s it asks, and before the answer ends nothing', async (name, change) => {
    const signedIn = await signIn();
    const { browser, idToken } = signedIn;
    const changes = await change(idToken);
    const query = new URLSearchParams({ post_logout_redirect_uri: OUT, state: 'a' });
    for (const [field, value] of Object.entries(changes)) query.set(field, value ?? '');
    const text = name === 'of two' ? decodeURIComponent(query.toString()) : query.toString();
    const asked = await browser.open(`/oidc/logout?${text}`);
    expect(asked).toMatchObject(ASKED);
    expect(await browser.post('/oidc/logout', { state: 'a', token: 'x' })).toMatchObject(ASKED);
    expect(await isLive(signedIn)).toEqual([true, true]);
    expect(await isRemembered(browser)).toBe(true);
    clock.advance(1);
    const answer = await browser.submit(asked, '/oidc/logout');
    // The browser of this test sends a repeated field once.
    if (name !== 'of two') expect(answer).toMatchObject(SIGNED_OUT);
    expect(await isLive(signedIn)).toEqual([false, false]);
    expect(await isRemembered(browser)).toBe(false);
    expect(await logOut(browser, changes)).toMatchObject(changes.client_id ? NOT_SIGNED_OUT : { status: 200 });
  });

  it('leads back to a registered URI of a client ID, after the answer, and at once if nobody is signed in', async () => {
    const { browser } = await signIn();
    const request = { client_id: of.clientId, post_logout_redirect_uri: OUT, state: 'a' };
    const asked = await logOut(browser, request);
    expect(asked).toMatchObject(ASKED);
    expect(asked.body).toContain('href="https://app.test"');
    expect(await browser.switchLanguage(asked, 'de')).toMatchObject({ heading: 'Möchten Sie sich abmelden?' });
    expect((await browser.submit(asked, '/oidc/logout')).location).toBe(`${OUT}&state=a`);
    expect((await logOut(browser, request)).location).toBe(`${OUT}&state=a`);
    const unregistered = { ...request, post_logout_redirect_uri: 'https://evil.test' };
    expect(await logOut(new LoginBrowser(service), unregistered)).toMatchObject(NOT_SIGNED_OUT);
  });

  it('ends the logins at every application in this browser, and none in another', async () => {
    const user = await createTestUser(service);
    const here = await signIn({ user });
    const there = await signIn({ user });
    const elsewhere = await signIn({ user, browser: here.browser, at: other });
    // Usher knows their tokens when they end.
    expect([await isLive(here), await isLive(elsewhere, other)]).toEqual(Array(2).fill([true, true]));
    await here.browser.submit(await logOut(here.browser, {}), '/oidc/logout');
    expect([await isLive(here), await isLive(elsewhere, other), await isLive(there)]).toEqual([
      [false, false],
      [false, false],
      [true, true],
    ]);
    expect([await isRemembered(here.browser), await isRemembered(there.browser)]).toEqual([false, true]);
  });

  it('asks in the name of the application that is named, and else of none', async () => {
    const { browser } = await signIn();
    const [named, unnamed] = [await logOut(browser, { client_id: of.clientId }), await logOut(browser, {})];
    expect(named.body).toMatch(/class="button second" href="https:\/\/app.test"/);
    expect(named.body).toContain('Shop');
    expect(named.body).not.toMatch(/>\s*true/);
    expect(unnamed).toMatchObject(ASKED);
    expect(unnamed.body).not.toMatch(/class="button second"|Shop|undefined|>\s*true/);
  });

  it('leaves the session of an application without OpenID Connect, which has its own way to sign out', async () => {
    const { browser, user } = await signIn();
    const { enter, code } = await fixture.askForCode({ browser, user });
    const authToken = parametersOf((await enter(code)).location).authToken ?? '';
    const { auth, sessions } = clientsOf(service, fixture.tenant);
    await auth.exchangeToken({ authToken });
    expect(await browser.submit(await logOut(browser, {}), '/oidc/logout')).toMatchObject(SIGNED_OUT);
    expect((await sessions.listSessions({ userId: user.id })).sessions).toMatchObject([{ userId: user.id }]);
  });

  it('signs out of the account page, too, and asks where only that is signed in', async () => {
    const user = await createTestUser(service);
    const { browser } = await openAccount(fixture, user);
    const { cookie } = browser;
    clock.advance(1);
    await browser.submit(await logOut(browser, {}), '/oidc/logout');
    for (const kept of [browser.cookie, cookie]) {
      browser.cookie = kept;
      expect(await browser.open('/account')).toMatchObject({ heading: 'Your account' });
    }
  });

  it('is one of an application that has OpenID Connect no more', async () => {
    const tenant = await createTenant(service, fields);
    const { browser, idToken: id_token_hint } = await signIn({ at: tenant });
    await admin.updateApplication({ applicationId: tenant.id, openIdConnect: false });
    expect(await logOut(browser, { id_token_hint })).toMatchObject(ASKED);
  });
});

it('allows a network 600 logouts a minute beside its logins, and others go on', async () => {
  const { idToken: id_token_hint, ...signedIn } = await signIn();
  const [browser, neighbor] = ['2001:db8::1', '2001:db8::2:3'].map((address) => new LoginBrowser(service, { address }));
  const stranger = new LoginBrowser(service, { address: '2001:db8:0:1::1' });
  if (!browser || !neighbor) expect.unreachable();
  for (let count = 0; count < 600; count++)
    expect(await logOut(browser, { id_token_hint: 'a.b.c' })).toMatchObject(NOT_SIGNED_OUT);
  expect((await logOut(neighbor, { id_token_hint })).status).toBe(429);
  expect(await logOut(neighbor, {})).toMatchObject(NOT_SIGNED_OUT);
  expect((await neighbor.open(`/oidc/authorize?${authorizationOf(other)}`)).status).toBe(303);
  expect((await getUserinfo(service, signedIn.tokens.access_token)).status).toBe(200);
  expect(await logOut(stranger, { id_token_hint })).toMatchObject(SIGNED_OUT);
});
