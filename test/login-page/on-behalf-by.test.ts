/** Sign-ins of somebody else on behalf of a user, on Usher's own pages and over OpenID Connect. */
import { decodeJwt } from 'jose';
import { afterAll, expect, it } from 'vitest';
import { follow, openAccount } from '../support/account-page.ts';
import { HOUR } from '../support/clock.ts';
import { LoginBrowser, textOf } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { createRsaJwk } from '../support/oidc.ts';
import { createOidcTenant, redeem, refresh, signInForCode } from '../support/oidc-client.ts';
import { adminClient, clientsOf, createLoginIntent, createTestUser, PUBLIC_URL } from '../support/service.ts';

const fixture = await LoginFixture.open({ oidcSigningKeys: [createRsaJwk()] });
const { clock, service } = fixture;
afterAll(() => fixture.close());
const admin = adminClient(service);
const onBehalfBy = 'Zoë of the support';

it('look at the account, but change nothing', async () => {
  const user = await createTestUser(service, { name: 'Ada' });
  const browser = new LoginBrowser(service);
  const { location } = await browser.submit(await browser.open('/account'), '/account/login');
  const loginIntentId = new URL(location ?? '').searchParams.get('intent') ?? '';
  const { redirectUrl } = await admin.completeLogin({ loginIntentId, userId: user.id, onBehalfBy });
  const page = await follow(browser, await browser.open(redirectUrl.slice(PUBLIC_URL.length)));
  expect(page).toMatchObject({ status: 200, heading: 'Ada' });
  expect(textOf(page.body)).toContain('Sign in again');
  const form = await browser.open('/account/name');
  await browser.submit(form, '/account/name', { name: 'Somebody' }).catch(() => undefined);
  expect((await admin.getUser({ userId: user.id })).user?.name).toBe('Ada');
});

it('are shown to the user on the account page', async () => {
  const user = await createTestUser(service);
  const loginIntentId = await createLoginIntent(service, fixture.tenant);
  const { authToken } = await admin.completeLogin({ loginIntentId, userId: user.id, onBehalfBy });
  await clientsOf(service, fixture.tenant).auth.exchangeToken({ authToken });
  const { page } = await openAccount(fixture, user);
  expect(textOf(page.body)).toContain('by somebody else on your behalf');
});

it('have an ID token of 1970, also when it is refreshed, and sessions with the name', async () => {
  const user = await createTestUser(service);
  const tenant = await createOidcTenant(service);
  clock.advance(1);
  const { body } = await redeem(service, tenant, await signInForCode(service, tenant, user, { onBehalfBy }));
  const { sessions } = clientsOf(service, tenant);
  const listed = async () => (await sessions.listSessions({ userId: user.id })).sessions;
  expect(decodeJwt(body.id_token ?? '')).toMatchObject({ auth_time: 0, amr: ['impersonation'] });
  expect(await listed()).toMatchObject([{ method: 'impersonation', onBehalfBy }]);
  clock.advance(HOUR);
  expect(await listed()).toEqual([]);
  const refreshed = await refresh(service, tenant, body.refresh_token);
  expect(decodeJwt(refreshed.body.id_token ?? '')).toMatchObject({ auth_time: 0, amr: ['impersonation'] });
  expect(await listed()).toMatchObject([{ method: 'impersonation', onBehalfBy }]);
});
