/** The answer to a login of OpenID Connect: a code, from Usher's own page or another one. */
import { afterAll, describe, expect, it } from 'vitest';
import { readCode } from '../../../../../src/modules/oidc/domain/tokens/code.ts';
import { deriveTokenKeys } from '../../../../../src/modules/oidc/domain/tokens/token-keys.ts';
import { MINUTE, SECOND } from '../../../../support/clock.ts';
import { formOf, LoginBrowser } from '../../../../support/login-browser.ts';
import { LoginFixture } from '../../../../support/login-fixture.ts';
import { beginOidcLogin, createRsaJwk, parametersOf } from '../../../../support/oidc.ts';
import { adminClient, createTenant, createTestUser, PUBLIC_URL, REDIRECT_URI } from '../../../../support/service.ts';

const fixture = await LoginFixture.open({ oidcSigningKeys: [createRsaJwk()] });
const { service, clock } = fixture;
afterAll(() => fixture.close());
const admin = adminClient(service);
const of = await createTenant(service, { name: 'Shop', openIdConnect: true });
const { code: codeKeys } = deriveTokenKeys(service.config.secrets.encryptionKeys ?? []);
const USED = { status: 409, location: undefined };

async function ready(changes: Readonly<Record<string, string | undefined>> = {}) {
  const browser = new LoginBrowser(service);
  const login = await beginOidcLogin(browser, of, changes);
  return { ...(await fixture.readyByEmail({ of, browser, login })), login, browser };
}

describe('the login page', () => {
  it('answers with a code in place of an auth token', async () => {
    const { submit, login } = await ready();
    const { status, location } = await submit();
    expect(status).toBe(303);
    expect(location?.startsWith(`${REDIRECT_URI}?`)).toBe(true);
    const parameters = parametersOf(location);
    expect(parameters).toEqual({
      code: expect.stringMatching(/^[\w-]{64}$/),
      state: 'a state & of the application',
      iss: PUBLIC_URL,
    });
    expect(readCode(codeKeys, parameters.code ?? '')?.loginIntentId).toBe(login.loginIntentId);
  });

  it('leaves out a state that there was none of', async () => {
    const { submit } = await ready({ state: undefined });
    expect(Object.keys(parametersOf((await submit()).location))).toEqual(['code', 'iss']);
  });

  it('answers the same to the same browser for a minute, and to no other', async () => {
    const { submit, browser, login } = await ready();
    const { location } = await submit();
    clock.advance(59 * SECOND);
    expect(await browser.open(login.path)).toMatchObject({ status: 303, location });
    expect(await new LoginBrowser(service).open(login.path)).toMatchObject(USED);
    clock.advance(SECOND);
    expect(await browser.open(login.path)).toMatchObject(USED);
    expect(await submit()).toMatchObject(USED);
  });

  it('lets the code live for a minute from when the person leaves the offer of a passkey, once', async () => {
    await using replica = await fixture.startReplica({ loginMethods: ['wallet', 'email', 'passkey'] });
    const { submit, browser, login } = await ready();
    const { location } = await submit();
    const at = browser.at(replica);
    clock.advance(3 * MINUTE);
    expect(await at.open(login.path)).toMatchObject(USED);
    const offer = await at.open(login.path.replace('/login', '/login/passkey/new'));
    const later = () => at.submit(offer, '/login/passkey/later');
    expect(await later()).toMatchObject({ status: 303, location });
    clock.advance(59 * SECOND);
    expect(await later()).toMatchObject({ status: 303, location });
    const [row] = await service.database.sql`
      select completed_at - authenticated_at = interval '3 minutes' as is_kept from login_intents
      where id = ${login.loginIntentId}`;
    expect(row).toEqual({ is_kept: true });
    clock.advance(SECOND);
    expect(await later()).toMatchObject(USED);
  });

  it.each<[string, number, boolean]>([
    ['in another browser', MINUTE, false],
    ['11 minutes after the sign-in', 11 * MINUTE, true],
  ])('lets the code live no longer for whoever leaves the offer %s', async (_where, waited, isOwn) => {
    await using replica = await fixture.startReplica({ loginMethods: ['wallet', 'email', 'passkey'] });
    const { submit, browser, login } = await ready();
    await submit();
    const own = browser.at(replica);
    const offer = await own.open(login.path.replace('/login', '/login/passkey/new'));
    const other = await fixture.arrive({ at: replica });
    clock.advance(waited);
    const { fields } = formOf(offer, '/login/passkey/later');
    const token = other.page.forms.find((form) => form.fields.token)?.fields.token ?? '';
    const left = isOwn
      ? await own.post('/login/passkey/later', fields)
      : await other.browser.post('/login/passkey/later', { ...fields, token });
    expect(left).toMatchObject(USED);
    const [row] = await service.database.sql`
      select authenticated_at from login_intents where id = ${login.loginIntentId}`;
    expect(row).toEqual({ authenticated_at: null });
  });

  it('says that the login has been used once the code is redeemed', async () => {
    const { submit, browser, login } = await ready();
    await submit();
    await service.database.sql`update login_intents set redeemed_at = now() where id = ${login.loginIntentId}`;
    expect(await browser.open(login.path)).toMatchObject(USED);
  });

  it('tells the application of a login that the person has cancelled', async () => {
    const { browser, page } = await fixture.arrive({ of, login: await beginOidcLogin(new LoginBrowser(service), of) });
    const { location } = await browser.submit(page, '/login/cancel');
    expect(parametersOf(location)).toEqual({
      error: 'access_denied',
      state: 'a state & of the application',
      iss: PUBLIC_URL,
    });
  });
});

describe('an application that wants the answer in a form', () => {
  it('gets the code from a page of Usher', async () => {
    const { submit, browser, login } = await ready({ response_mode: 'form_post', state: '"<&' });
    const { location = '' } = await submit();
    expect(location.startsWith(`${PUBLIC_URL}/oidc/return?code=`)).toBe(true);
    const path = location.slice(PUBLIC_URL.length);
    const page = await browser.open(path);
    expect(page).toMatchObject({ status: 200, heading: 'You are being sent back' });
    expect(page.headers['referrer-policy']).toBe('no-referrer');
    const { method, fields } = formOf(page, REDIRECT_URI);
    const { code } = parametersOf(location);
    expect({ method, fields }).toEqual({ method: 'post', fields: { code, state: '"<&', iss: PUBLIC_URL } });
    expect(readCode(codeKeys, code ?? '')?.loginIntentId).toBe(login.loginIntentId);
    clock.advance(MINUTE);
    expect(await browser.open(path)).toMatchObject(USED);
  });

  it('does not get a code again that it has redeemed', async () => {
    const { submit, browser, login } = await ready({ response_mode: 'form_post' });
    const { location = '' } = await submit();
    await service.database.sql`update login_intents set redeemed_at = now() where id = ${login.loginIntentId}`;
    expect(await browser.open(location.slice(PUBLIC_URL.length))).toMatchObject(USED);
  });

  it('gets the error of a login that the person has cancelled', async () => {
    const login = await beginOidcLogin(new LoginBrowser(service), of, { response_mode: 'form_post' });
    const { browser, page } = await fixture.arrive({ of, login });
    const { location = '' } = await browser.submit(page, '/login/cancel');
    const form = await browser.open(location.slice(PUBLIC_URL.length));
    expect(formOf(form, REDIRECT_URI).fields).toMatchObject({ error: 'access_denied', iss: PUBLIC_URL });
  });

  it.each(['', '?code=x', `?code=${'A'.repeat(64)}`, '?intent=x&error=access_denied', '?error=access_denied'])(
    'gets nothing for %j',
    async (query) => {
      const page = await new LoginBrowser(service).open(`/oidc/return${query}`);
      expect(page).toMatchObject({ status: 404, forms: [] });
    },
  );

  it('gets no other error, and none of a login of GenerateAuthUrl', async () => {
    const login = await beginOidcLogin(new LoginBrowser(service), of, { response_mode: 'form_post' });
    const open = (intent: string, error: string) =>
      new LoginBrowser(service).open(`/oidc/return?${new URLSearchParams({ intent, error })}`);
    expect((await open(login.loginIntentId, 'server_error')).status).toBe(404);
    const { login: other } = await fixture.arrive();
    expect((await open(other.loginIntentId, 'access_denied')).status).toBe(404);
    const { login: byQuery } = await fixture.arrive({ of, login: await beginOidcLogin(new LoginBrowser(service), of) });
    expect((await open(byQuery.loginIntentId, 'access_denied')).status).toBe(404);
  });
});

describe('a login page of the operator', () => {
  it('gets the redirect with the code from CompleteLogin, once, and no auth token', async () => {
    const wishes = { ui_locales: 'de', prompt: 'login', max_age: '60' };
    const { loginIntentId } = await beginOidcLogin(new LoginBrowser(service), of, wishes);
    const { loginIntent } = await admin.getLoginIntent({ loginIntentId });
    expect(loginIntent).toMatchObject({ applicationName: 'Shop', state: 'open', locale: 'de' });
    expect(loginIntent).toMatchObject({ prompt: 'LOGIN', maxAgeSeconds: 60 });
    const { id: userId } = await createTestUser(service);
    const { authToken, redirectUrl } = await admin.completeLogin({ loginIntentId, userId });
    expect(authToken).toBe('');
    expect(readCode(codeKeys, parametersOf(redirectUrl).code ?? '')?.loginIntentId).toBe(loginIntentId);
    await expect(admin.completeLogin({ loginIntentId, userId })).rejects.toThrow('Login intent already completed');
  });

  it('gets the redirect with the error from CancelLogin', async () => {
    const { loginIntentId } = await beginOidcLogin(new LoginBrowser(service), of, { state: undefined });
    const { redirectUrl } = await admin.cancelLogin({ loginIntentId });
    expect(parametersOf(redirectUrl)).toEqual({ error: 'access_denied', iss: PUBLIC_URL });
  });

  it('is where browsers are sent', async () => {
    const config = { authPageUrl: 'https://pages.test/start?a=1' };
    await using replica = await fixture.startReplica(config);
    const login = await beginOidcLogin(new LoginBrowser(replica), of);
    expect(login).toMatchObject({ origin: 'https://pages.test', path: expect.stringMatching(/^\/start\?a=1&intent=/) });
  });
});
