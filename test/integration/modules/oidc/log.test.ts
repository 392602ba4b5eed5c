/** What the log says of requests of OpenID Connect: which application they are about, and whose mistake it was. */
import { afterAll, expect, test } from 'vitest';
import { MCP_SERVER, startClientServers } from '../../../support/client-metadata.ts';
import { beginDevice, decide, enterUserCode, signInForDevice } from '../../../support/device-client.ts';
import { LoginBrowser } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { authorizationOf, beginOidcLogin, createRsaJwk } from '../../../support/oidc.ts';
import { basicOf, getUserinfo, post, redeem, signInForCode } from '../../../support/oidc-client.ts';
import { RecordedLog } from '../../../support/recorded-log.ts';
import { adminClient, createTenant, createTestUser } from '../../../support/service.ts';

const clients = await startClientServers();
const log = new RecordedLog();
const fixture = await LoginFixture.open({
  config: clients.config,
  oidcSigningKeys: [createRsaJwk()],
  logger: log.logger,
});
const { service } = fixture;
afterAll(async () => {
  await fixture.close();
  await clients[Symbol.asyncDispose]();
});
const resource = 'https://mcp.app.test/mcp';
const mcp = await createTenant(service, { ...MCP_SERVER, resourceUri: resource });
const shop = await createTenant(service, { openIdConnect: true, deviceLogin: true });
const ofClient = { redirect_uri: 'https://assistant.test/callback', resource, scope: 'orders:read' };

const open = (path: string, query: URLSearchParams | string = '') => new LoginBrowser(service).open(`${path}?${query}`);

/** Completes the login as a page of the operator does, and opens what comes then. */
async function complete(loginIntentId: string, browser = new LoginBrowser(service)) {
  const { id: userId } = await createTestUser(service);
  const { redirectUrl } = await adminClient(service).completeLogin({ loginIntentId, userId });
  const { pathname, search } = new URL(redirectUrl);
  return browser.open(pathname + search);
}

test.each<[string, () => Promise<unknown>, readonly object[]]>([
  [
    'a login that begins',
    () => open('/oidc/authorize', authorizationOf(shop)),
    [{ code: 'ok', applicationId: shop.id, status: 303 }],
  ],
  [
    'a login that is refused, which the application is told',
    () => open('/oidc/authorize', authorizationOf(shop, { response_type: 'token' })),
    [{ code: 'invalid_argument', reason: 'unsupported_response_type', applicationId: shop.id, status: 303 }],
  ],
  [
    'a login for a client that is unknown',
    () => open('/oidc/authorize', authorizationOf({ clientId: 'client_unknown' })),
    [{ code: 'invalid_argument', reason: 'invalid_request', detail: expect.stringContaining('unknown'), status: 400 }],
  ],
  [
    'a login for a client that nobody has registered, and its consent',
    async () => {
      const browser = new LoginBrowser(service);
      const { loginIntentId } = await beginOidcLogin(browser, { clientId: clients.add() }, ofClient);
      await browser.submit(await complete(loginIntentId, browser), '/oidc/consent', { choice: 'allow' });
    },
    ['GET /oidc/authorize', 'GET /oidc/consent', 'POST /oidc/consent'].map((method) => ({
      ...{ method, code: 'ok', applicationId: mcp.id },
    })),
  ],
  [
    'an answer by a form',
    async () => {
      const login = await beginOidcLogin(new LoginBrowser(service), shop, { response_mode: 'form_post' });
      await complete(login.loginIntentId);
    },
    ['GET /oidc/authorize', 'GET /oidc/return'].map((method) => ({ method, code: 'ok', applicationId: shop.id })),
  ],
  [
    'a logout',
    () => open('/oidc/logout', `client_id=${shop.clientId}`),
    [{ code: 'ok', applicationId: shop.id, status: 200 }],
  ],
  [
    'a device that is let in',
    async () => decide(await signInForDevice(fixture, shop, await beginDevice(service, shop)), 'allow'),
    [
      { method: 'POST /oidc/device_authorization', code: 'ok', applicationId: shop.id },
      ...['GET /device', 'POST /device'].map((method) => ({ method, code: 'ok' })),
      ...['GET /device/request', 'GET /device/approve', 'POST /device/approve', 'GET /device/approve'].map(
        (method) => ({ method, code: 'ok', applicationId: shop.id }),
      ),
    ],
  ],
  [
    'a device that is denied',
    async () => {
      const browser = new LoginBrowser(service);
      const { userCode } = await beginDevice(service, shop);
      await browser.submit(await enterUserCode(browser, userCode), '/device/request');
    },
    [
      { method: 'POST /oidc/device_authorization', code: 'ok', applicationId: shop.id },
      ...['GET /device', 'POST /device'].map((method) => ({ method, code: 'ok' })),
      ...['GET', 'POST', 'GET'].map((verb) => ({
        ...{ method: `${verb} /device/request`, code: 'ok' },
        applicationId: shop.id,
      })),
    ],
  ],
  [
    'a client that nobody has registered, but that sends a secret, or is of no host that is allowed',
    async () => {
      const form = { grant_type: 'refresh_token', refresh_token: 'x' };
      await post(service, '/oidc/token', { ...form, client_id: clients.add(), client_secret: 'x' });
      await post(service, '/oidc/token', { ...form, client_id: 'https://elsewhere.test/client' });
    },
    [undefined, expect.stringContaining('its host is not in CLIENT_METADATA_HOSTS')].map((detail) => ({
      ...{ method: 'POST /oidc/token', code: 'unauthenticated', reason: 'invalid_client', detail },
    })),
  ],
  [
    'tokens that are refused, issued and used',
    async () => {
      await post(service, '/oidc/token', { grant_type: 'none' }, basicOf(shop));
      const code = await signInForCode(service, shop, await createTestUser(service));
      await getUserinfo(service, (await redeem(service, shop, code)).body.access_token);
    },
    [
      {
        method: 'POST /oidc/token',
        code: 'invalid_argument',
        reason: 'unsupported_grant_type',
        applicationId: shop.id,
      },
      { method: 'POST /oidc/token', code: 'ok', applicationId: shop.id },
      { method: 'GET /oidc/userinfo', code: 'ok', applicationId: shop.id },
    ],
  ],
])('%s', async (_, act, expected) => {
  const before = log.callLines.length;
  await act();
  const lines = () => log.callLines.slice(before).filter(({ protocol }) => protocol === 'oidc');
  const linesOf = () => lines().map(({ detail, ...line }) => ({ ...line, detail }));
  await expect.poll(linesOf).toMatchObject(expected);
});
