/** Whatever ends a grant also ends the sign-in that its browser remembers, and codes that it has not redeemed. */
import { afterAll, describe, expect, it } from 'vitest';
import { openAccount, tokenOf } from '../../../../support/account-page.ts';
import { beginLogin, LoginBrowser, type LoginPage } from '../../../../support/login-browser.ts';
import { LoginFixture } from '../../../../support/login-fixture.ts';
import {
  authorizationOf,
  beginOidcLogin,
  CODE_VERIFIER,
  createRsaJwk,
  parametersOf,
} from '../../../../support/oidc.ts';
import { basicOf, getUserinfo, post, redeem, refresh } from '../../../../support/oidc-client.ts';
import { adminClient, clientsOf, createTenant, createTestUser, type TestUser } from '../../../../support/service.ts';

const fixture = await LoginFixture.open({ oidcSigningKeys: [createRsaJwk()] });
const { service, clock } = fixture;
const replica = await fixture.startReplica();
afterAll(async () => {
  await replica.close();
  await fixture.close();
});
const admin = adminClient(service);
const fields = { openIdConnect: true, singleSignOn: true };
const shop = await createTenant(service, { name: 'Shop', ...fields });
const page = await createTenant(service, { name: 'Page', ...fields, publicClient: true });
const forum = await createTenant(service, { name: 'Forum', singleSignOn: true });

type SignedIn = Awaited<ReturnType<typeof signIn>>;

async function signIn(user: TestUser, { browser = new LoginBrowser(service), of = shop } = {}) {
  clock.advance(1);
  const login = await beginOidcLogin(browser, of, { prompt: 'login' });
  const { enter, code: typed } = await fixture.askForCode({ of, browser, login, user });
  const { code = '' } = parametersOf((await enter(typed)).location);
  const { body } = await redeem(service, of, code, { verifier: CODE_VERIFIER, isPublic: of === page });
  const { grants } = await admin.listUserGrants({ userId: user.id });
  const { grantId = '', sid = '' } = grants[0] ?? {};
  return { user, browser, of, tokens: body, grantId, sid };
}

async function continueSilently({ browser, of }: Pick<SignedIn, 'browser' | 'of'>, at = service) {
  const { location } = await browser.at(at).open(`/oidc/authorize?${authorizationOf(of, { prompt: 'none' })}`);
  return parametersOf(location);
}

const isOffered = ({ forms }: LoginPage) => forms.some(({ action }) => action === '/login/continue');

async function isOfferedAt(browser: LoginBrowser, path: '/account'): Promise<boolean> {
  const start = await browser.open(path);
  const { location = '' } = await browser.submit(start, '/account/login');
  const { pathname, search } = new URL(location);
  return isOffered(await browser.open(pathname + search));
}

const WAYS: Readonly<Record<string, (signedIn: SignedIn) => Promise<unknown>>> = {
  'a logout': ({ browser, tokens }) => browser.open(`/oidc/logout?id_token_hint=${tokens.id_token}`),
  'a logout that another site posts, without cookies': async ({ browser, tokens }) => {
    const crossSite = await new LoginBrowser(service).post('/oidc/logout', { id_token_hint: tokens.id_token ?? '' });
    if (crossSite.location) await browser.open(crossSite.location);
  },
  'a logout of a browser that has lost its cookie': ({ tokens }) =>
    new LoginBrowser(service).open(`/oidc/logout?id_token_hint=${tokens.id_token}`),
  '/oidc/revoke': ({ of, tokens }) => post(service, '/oidc/revoke', { token: tokens.refresh_token ?? '' }, basicOf(of)),
  EndGrant: ({ of, grantId }) => clientsOf(service, of).sessions.endGrant({ grantId }),
  EndUserGrant: ({ of, user, grantId }) => admin.endUserGrant({ applicationId: of.id, userId: user.id, grantId }),
  '"Sign out" of this browser on the account page': async ({ of, user, sid }) => {
    const account = await openAccount(fixture, user);
    await account.browser.submit(account.page, '/account/sessions/end', { application: of.id, sid });
  },
};

describe.each(Object.entries(WAYS))('after %s', (_, end) => {
  it('the browser has no way back, and another browser of the user has its own', async () => {
    const user = await createTestUser(service);
    const other = await signIn(user);
    const signedIn = await signIn(user);
    const { code = '' } = await continueSilently(signedIn);
    expect(code).not.toBe('');
    clock.advance(1);
    await end(signedIn);
    for (const at of [service, replica]) {
      expect(await continueSilently(signedIn, at)).toMatchObject({ error: 'login_required' });
      const late = await redeem(at, shop, code, { verifier: CODE_VERIFIER });
      expect(late).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    }
    expect(await isOfferedAt(signedIn.browser, '/account')).toBe(false);
    expect((await refresh(service, shop, signedIn.tokens.refresh_token)).status).toBe(400);
    expect((await getUserinfo(service, signedIn.tokens.access_token)).status).toBe(401);
    expect((await refresh(service, shop, other.tokens.refresh_token)).status).toBe(200);
    expect(await continueSilently(other)).toHaveProperty('code');
    clock.advance(1);
    expect((await refresh(service, shop, (await signIn(user, signedIn)).tokens.refresh_token)).status).toBe(200);
  });

  it('an auth token of an earlier sign-in there, which nobody has exchanged, gives nothing', async () => {
    const user = await createTestUser(service);
    const exchange = (authToken: string) => clientsOf(service, shop).auth.exchangeToken({ authToken });
    const askForToken = async (browser = new LoginBrowser(service)) => {
      const login = await beginLogin(service, shop, { prompt: 'LOGIN' });
      const { location = '' } = await (await fixture.readyByEmail({ browser, user, login })).submit();
      return new URL(location).searchParams.get('authToken') ?? '';
    };
    const other = new LoginBrowser(service);
    await signIn(user, { browser: other });
    const [elsewhere, browser] = [await askForToken(other), new LoginBrowser(service)];
    const authToken = await askForToken(browser);
    const signedIn = await signIn(user, { browser });
    clock.advance(1);
    await end(signedIn);
    await expect(exchange(authToken)).rejects.toMatchObject({ rawMessage: 'Invalid or expired token' });
    expect((await exchange(elsewhere)).session?.id).toEqual(expect.any(String));
  });

  it('a sign-in of the same browser at another application offers no way back either', async () => {
    const user = await createTestUser(service);
    const signedIn = await signIn(user);
    clock.advance(1);
    const { enter, code } = await fixture.askForCode({
      of: forum,
      browser: signedIn.browser,
      user,
      login: await beginLogin(service, forum, { prompt: 'LOGIN' }),
    });
    await enter(code);
    clock.advance(1);
    await end(signedIn);
    expect(await continueSilently(signedIn)).toMatchObject({ error: 'login_required' });
  });
});

it('a code from before a sign-out on the account page gives nothing', async () => {
  const user = await createTestUser(service);
  const { browser } = await openAccount(fixture, user);
  const signedIn = await signIn(user, { browser });
  const { code = '' } = await continueSilently(signedIn);
  expect(code).not.toBe('');
  clock.advance(1);
  await browser.post('/account/logout', { token: tokenOf(await browser.open('/account')) });
  expect(await redeem(service, shop, code, { verifier: CODE_VERIFIER })).toMatchObject({ status: 400 });
  expect(await continueSilently(signedIn)).toMatchObject({ error: 'login_required' });
});

it('EndGrant of an earlier grant leaves the sign-in to a later one of the same browser', async () => {
  const user = await createTestUser(service);
  const { browser, grantId } = await signIn(user);
  const later = await signIn(user, { browser });
  await clientsOf(service, shop).sessions.endGrant({ grantId });
  expect(await continueSilently(later)).toHaveProperty('code');
  await clientsOf(service, shop).sessions.endGrant({ grantId: later.grantId });
  expect(await continueSilently(later)).toMatchObject({ error: 'login_required' });
});

it('the second use of a replaced refresh token leaves no way back, and notes an end', async () => {
  const user = await createTestUser(service);
  const signedIn = await signIn(user, { of: page });
  const use = () => refresh(service, page, signedIn.tokens.refresh_token, { isPublic: true });
  const successor = (await use()).body.refresh_token;
  clock.advance(31_000);
  expect((await use()).body).toMatchObject({ error: 'invalid_grant' });
  expect((await refresh(service, page, successor, { isPublic: true })).body).toMatchObject({ error: 'invalid_grant' });
  expect(await continueSilently(signedIn)).toMatchObject({ error: 'login_required' });
  expect(await isOfferedAt(signedIn.browser, '/account')).toBe(false);
});
