/** `prompt`, `max_age` and `id_token_hint` in a browser that has remembered a sign-in. */
import { decodeJwt } from 'jose';
import { afterAll, describe, expect, it } from 'vitest';
import { MINUTE, SECOND } from '../../../../support/clock.ts';
import { formOf, LoginBrowser } from '../../../../support/login-browser.ts';
import { LoginFixture } from '../../../../support/login-fixture.ts';
import {
  authorizationOf,
  beginOidcLogin,
  CODE_VERIFIER,
  createRsaJwk,
  parametersOf,
} from '../../../../support/oidc.ts';
import { redeem, refresh } from '../../../../support/oidc-client.ts';
import { adminClient, createTenant, PUBLIC_URL, REDIRECT_URI, type Tenant } from '../../../../support/service.ts';

type Changes = Readonly<Record<string, string | undefined>>;

const fixture = await LoginFixture.open({ oidcSigningKeys: [createRsaJwk()] });
const { service, clock } = fixture;
afterAll(() => fixture.close());
const admin = adminClient(service);
const [shop, forum, alone] = [await create(true), await create(true), await create(false)];

function create(singleSignOn: boolean): Promise<Tenant> {
  return createTenant(service, { name: 'Shop', openIdConnect: true, singleSignOn });
}

/** Signs a new user in at the shop, by a code. */
async function signIn(of = shop) {
  const browser = new LoginBrowser(service);
  const { submit, user } = await fixture.readyByEmail({ of, browser, login: await beginOidcLogin(browser, of) });
  const signedInAt = clock.read();
  return { browser, user, signedInAt, tokens: await tokensOf(await submit(), of) };
}

async function tokensOf({ location }: { location: string | undefined }, of: Tenant) {
  const { status, body } = await redeem(service, of, parametersOf(location).code ?? '', { verifier: CODE_VERIFIER });
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
}

const ask = (browser: LoginBrowser, of: Tenant, changes: Changes = {}) =>
  browser.open(`/oidc/authorize?${authorizationOf(of, { prompt: 'none', ...changes })}`);

const errorOf = ({ location }: { location: string | undefined }) => parametersOf(location).error;

describe('prompt=none', () => {
  it('is answered without a page at an application that shares sign-ins, with the instant of the sign-in', async () => {
    const { browser, user, signedInAt } = await signIn();
    clock.advance(10 * MINUTE);
    const answer = await ask(browser, forum);
    expect(answer.status).toBe(303);
    expect(parametersOf(answer.location)).toMatchObject({ state: 'a state & of the application', iss: PUBLIC_URL });
    const claims = decodeJwt((await tokensOf(answer, forum)).id_token ?? '');
    expect(claims).toMatchObject({
      sub: user.id,
      aud: forum.clientId,
      auth_time: Math.floor(signedInAt.getTime() / SECOND),
      amr: ['email'],
      nonce: 'a nonce',
    });
  });

  it('is answered by a form if the application wants that', async () => {
    const { browser } = await signIn();
    const page = await ask(browser, forum, { response_mode: 'form_post' });
    expect(formOf(page, REDIRECT_URI).fields).toMatchObject({ code: expect.stringMatching(/^[\w-]{64}$/) });
  });

  it('needs a remembered sign-in, at an application that shares sign-ins', async () => {
    const { browser } = await signIn();
    expect(errorOf(await ask(new LoginBrowser(service), shop))).toBe('login_required');
    expect(errorOf(await ask(browser, alone))).toBe('login_required');
    const { browser: other } = await signIn(alone);
    expect(errorOf(await ask(other, alone))).toBe('login_required');
  });

  it('needs one that is younger than max_age', async () => {
    const { browser } = await signIn();
    clock.advance(MINUTE);
    expect(errorOf(await ask(browser, shop, { max_age: '59' }))).toBe('login_required');
    expect(errorOf(await ask(browser, shop, { max_age: '60' }))).toBe(undefined);
  });

  it('gives tokens for no longer than sessions last after the sign-in', async () => {
    const { browser } = await signIn();
    clock.advance(12 * 60 * MINUTE - 5 * MINUTE);
    const tokens = await tokensOf(await ask(browser, forum), forum);
    expect(tokens.expires_in).toBe(300);
    clock.advance(5 * MINUTE);
    expect((await refresh(service, forum, tokens.refresh_token)).status).toBe(400);
  });

  it('needs one that no revocation has ended', async () => {
    const { browser, user } = await signIn();
    await admin.deactivateUser({ userId: user.id });
    expect(errorOf(await ask(browser, shop))).toBe('login_required');
  });

  it('needs that of the user of id_token_hint, a token of the same application', async () => {
    const { browser, tokens } = await signIn();
    const { tokens: stranger } = await signIn();
    const elsewhere = await signIn(forum);
    expect(errorOf(await ask(browser, shop, { id_token_hint: tokens.id_token }))).toBe(undefined);
    for (const id_token_hint of [stranger.id_token, elsewhere.tokens.id_token, `${tokens.id_token}x`, 'x'])
      expect(errorOf(await ask(browser, shop, { id_token_hint }))).toBe('login_required');
    // An expired one names the user, too.
    clock.advance(20 * MINUTE);
    expect(errorOf(await ask(browser, shop, { id_token_hint: tokens.id_token }))).toBe(undefined);
  });

  it('takes no id_token_hint of another application, even if it names the same user in the same browser', async () => {
    const { browser, user, tokens } = await signIn();
    const { id_token: foreign = '' } = await tokensOf(await ask(browser, forum), forum);
    expect(decodeJwt(foreign)).toMatchObject({ sub: user.id, aud: forum.clientId });
    expect(errorOf(await ask(browser, shop, { id_token_hint: foreign }))).toBe('login_required');
    expect(errorOf(await ask(browser, shop, { id_token_hint: tokens.id_token }))).toBe(undefined);
  });

  it('leaves the cookie of the browser alone that a foreign form has not sent', async () => {
    const page = await new LoginBrowser(service).post(
      '/oidc/authorize',
      Object.fromEntries(authorizationOf(shop, { prompt: 'none' })),
    );
    expect([errorOf(page), page.cookies]).toEqual(['login_required', []]);
  });
});

describe('a login in a browser that has remembered a sign-in', () => {
  const headingFor = async (browser: LoginBrowser, changes: Changes) =>
    (await browser.open((await beginOidcLogin(browser, forum, changes)).path)).heading;

  it('asks whether to continue, also for select_account and consent', async () => {
    const { browser } = await signIn();
    for (const prompt of [undefined, 'select_account', 'consent', 'select_account consent'])
      expect(await headingFor(browser, { prompt })).toBe('Welcome back');
  });

  it('asks for a new sign-in with prompt=login, or if it is older than max_age', async () => {
    const { browser } = await signIn();
    clock.advance(10 * SECOND);
    expect(await headingFor(browser, { max_age: '10' })).toBe('Welcome back');
    for (const changes of [{ prompt: 'login' }, { max_age: '9' }, { max_age: '0' }])
      expect(await headingFor(browser, changes)).not.toBe('Welcome back');
  });

  it('tells the instant of the first sign-in when the person continues', async () => {
    const { browser, signedInAt } = await signIn();
    clock.advance(MINUTE);
    const page = await browser.open((await beginOidcLogin(browser, forum, { max_age: '600' })).path);
    const claims = decodeJwt((await tokensOf(await browser.submit(page, '/login/continue'), forum)).id_token ?? '');
    expect(claims.auth_time).toBe(Math.floor(signedInAt.getTime() / SECOND));
  });
});
