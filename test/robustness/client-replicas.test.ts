/** What clients begin at one replica, and go on with or end at the other. What replicas have cached is five seconds old at most. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openAccount } from '../support/account-page.ts';
import { MCP_SERVER, startClientServers } from '../support/client-metadata.ts';
import { beginDevice, enterUserCode, pathIn, poll } from '../support/device-client.ts';
import { LoginBrowser } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { beginOidcLogin, CODE_VERIFIER, createRsaJwk, parametersOf } from '../support/oidc.ts';
import { basicOf, post, refresh } from '../support/oidc-client.ts';
import { adminClient, createTenant, type Tenant, type TestService } from '../support/service.ts';

const RESOURCE = 'https://mcp.app.test/mcp';
const REDIRECT = 'https://assistant.test/callback';

const stack = new AsyncDisposableStack();
let clients: Awaited<ReturnType<typeof startClientServers>>;
let fixture: LoginFixture;
let here: TestService;
let there: TestService;
let shop: Tenant;
let cli: Tenant;

beforeAll(async () => {
  clients = stack.use(await startClientServers());
  const config = clients.config;
  fixture = stack.use(await LoginFixture.open({ config, oidcSigningKeys: [createRsaJwk()] }));
  here = fixture.service;
  there = await fixture.startReplica(config);
  stack.defer(() => there.close());
  cli = await createTenant(here, { name: 'Shop CLI', openIdConnect: true, deviceLogin: true });
  shop = await createTenant(here, { ...MCP_SERVER, resourceUri: RESOURCE, machineClientIds: [cli.clientId] });
});
afterAll(() => stack.disposeAsync());

const isActive = async (at: TestService, token: string | undefined) =>
  (await post(at, '/oidc/introspect', { token: token ?? '' }, basicOf(shop))).body.active;

/** Opens the login at one replica, signs in at the other, and returns the page that asks for consent at the first. */
async function arrive(clientId: string, by: { browser?: LoginBrowser; user?: { id: string; email: string } } = {}) {
  const browser = by.browser ?? new LoginBrowser(here);
  const wanted = { redirect_uri: REDIRECT, resource: RESOURCE, scope: 'orders:read' };
  const login = await beginOidcLogin(browser, { clientId }, wanted);
  const { submit, user } = await fixture.readyByEmail({ ...by, browser, login } as never);
  const consent = new URL((await submit(there)).location ?? '');
  return { browser, user, page: await browser.open(consent.pathname + consent.search) };
}

const redeem = (at: TestService, clientId: string, location: string | undefined) =>
  post(at, '/oidc/token', {
    ...{ grant_type: 'authorization_code', client_id: clientId, code: parametersOf(location).code ?? '' },
    ...{ redirect_uri: REDIRECT, code_verifier: CODE_VERIFIER, resource: RESOURCE },
  });

const refreshAt = (at: TestService, clientId: string, token: string | undefined) =>
  post(at, '/oidc/token', { grant_type: 'refresh_token', client_id: clientId, refresh_token: token ?? '' });

/** Signs in at both replicas, and gets tokens at one. Both know the access token then. */
async function signIn(clientId: string) {
  const { browser, user, page } = await arrive(clientId);
  const { location } = await browser.at(there).submit(page, '/oidc/consent', { choice: 'allow' });
  const { status, body } = await redeem(here, clientId, location);
  expect(status).toBe(200);
  expect([await isActive(here, body.access_token), await isActive(there, body.access_token)]).toEqual([true, true]);
  return { browser, user, location, body };
}

test('a sign-in with consent, refreshes and a revocation go on at either replica', async () => {
  const clientId = clients.add();
  const { browser, user, location, body } = await signIn(clientId);
  expect((await redeem(there, clientId, location)).body.error).toBe('invalid_grant');
  const refreshed = await refreshAt(there, clientId, body.refresh_token);
  expect(await isActive(here, refreshed.body.access_token)).toBe(true);
  // The consent that one has stored, the other remembers.
  expect((await arrive(clientId, { browser: browser.at(there), user })).page).toMatchObject({ status: 303 });
  await post(there, '/oidc/revoke', { client_id: clientId, token: refreshed.body.refresh_token ?? '' });
  expect((await refreshAt(here, clientId, refreshed.body.refresh_token)).body.error).toBe('invalid_grant');
  await expect.poll(() => isActive(here, body.access_token)).toBe(false);
});

test('of redemptions of a code at both replicas at once, one gets tokens', async () => {
  const clientId = clients.add();
  const { browser, page } = await arrive(clientId);
  const { location } = await browser.submit(page, '/oidc/consent', { choice: 'allow' });
  const replies = await Promise.all([here, there].map((at) => redeem(at, clientId, location)));
  expect(replies.map(({ status }) => status).sort()).toEqual([200, 400]);
});

test('access that a person ends at one replica has ended at the other, with the consent', async () => {
  const clientId = clients.add();
  const { browser, user, body } = await signIn(clientId);
  const account = await openAccount(fixture, user);
  await account.browser.submit(account.page, '/account/clients/end', {});
  expect((await refreshAt(there, clientId, body.refresh_token)).body.error).toBe('invalid_grant');
  await expect.poll(() => isActive(there, body.access_token)).toBe(false);
  expect((await arrive(clientId, { browser: browser.at(there), user })).page.heading).toBe('Allow access?');
});

test('a device for a resource begins, is let in and gets its tokens at different replicas', async () => {
  const more = { resource: RESOURCE };
  const device = await beginDevice(here, cli, { scope: 'orders:read', more });
  const browser = new LoginBrowser(there);
  const path = pathIn(await enterUserCode(browser, device.userCode));
  const loginIntentId = new URLSearchParams(path.split('?')[1]).get('intent') ?? '';
  const login = { loginIntentId, path, origin: '', state: '' };
  const { submit } = await fixture.readyByEmail({ browser, login });
  const page = await browser.open(pathIn(await submit(here)));
  expect((await poll(here, cli, device, { more })).body.error).toBe('authorization_pending');
  const form = page.forms.find(({ fields }) => fields.decision === 'allow');
  await browser.at(here).post('/device/approve', form?.fields ?? {});
  const { status, body } = await poll(there, cli, device, { more });
  expect(status).toBe(200);
  expect([await isActive(here, body.access_token), await isActive(there, body.access_token)]).toEqual([true, true]);
  expect((await refresh(here, cli, body.refresh_token)).status).toBe(200);
});

test('the token of a machine is known at either replica, and dead at both once its key is revoked at one', async () => {
  const form = { grant_type: 'client_credentials', resource: RESOURCE, scope: 'orders:read' };
  const { body } = await post(here, '/oidc/token', form, basicOf(cli));
  expect([await isActive(here, body.access_token), await isActive(there, body.access_token)]).toEqual([true, true]);
  const admin = adminClient(there);
  const { apiKeys } = await admin.listApiKeys({ applicationId: cli.id });
  await admin.revokeApiKey({ apiKeyId: apiKeys[0]?.apiKeyId ?? '' });
  for (const at of [here, there]) await expect.poll(() => isActive(at, body.access_token)).toBe(false);
});
