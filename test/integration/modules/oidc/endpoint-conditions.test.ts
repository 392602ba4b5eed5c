/** What the endpoints of OpenID Connect refuse, and what they say when something goes wrong in Usher. */
import { afterAll, describe, expect, it, onTestFinished, test, vi } from 'vitest';
import { Database } from '../../../../src/database/pool/database.ts';
import { ApiKeys } from '../../../../src/domain/api-keys/api-keys.ts';
import { ServiceError } from '../../../../src/domain/core/errors.ts';
import { AuthTokens } from '../../../../src/domain/tokens/auth-tokens.ts';
import { Resources } from '../../../../src/modules/oidc/clients/resources.ts';
import { DEVICE_GRANT } from '../../../../src/modules/oidc/domain/devices/device-codes.ts';
import { LiveGrants } from '../../../../src/modules/oidc/domain/grants/live-grants.ts';
import { OidcSigningKeys } from '../../../../src/modules/oidc/domain/tokens/signing-keys.ts';
import { MCP_SERVER, startClientServers } from '../../../support/client-metadata.ts';
import { request } from '../../../support/http.ts';
import { LoginBrowser } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { authorizationOf, beginOidcLogin, CODE_VERIFIER, createRsaJwk, parametersOf } from '../../../support/oidc.ts';
import { basicOf, post, redeem, signInForCode } from '../../../support/oidc-client.ts';
import { adminClient, createTenant, createTestUser } from '../../../support/service.ts';

const clients = await startClientServers();
const fixture = await LoginFixture.open({
  config: clients.config,
  oidcSigningKeys: [createRsaJwk()],
});
const { service } = fixture;
afterAll(async () => {
  await fixture.close();
  await clients[Symbol.asyncDispose]();
});
const admin = adminClient(service);
const [RESOURCE, OTHER] = ['https://mcp.app.test/mcp', 'https://other.app.test/'];
const shop = await createTenant(service, { ...MCP_SERVER, deviceLogin: true, resourceUri: RESOURCE });
await createTenant(service, { ...MCP_SERVER, name: 'Other MCP', resourceUri: OTHER });
const plain = await createTenant(service, { openIdConnect: true, singleSignOn: true });
const REMOTE = 'https://assistant.test/callback';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

/** Signs a user in for a client that nobody has registered. */
async function signIn(clientId = clients.add()) {
  const browser = new LoginBrowser(service);
  const wanted = { redirect_uri: REMOTE, resource: RESOURCE, scope: 'openid orders:read' };
  const { loginIntentId } = await beginOidcLogin(browser, { clientId }, wanted);
  const { id: userId } = await createTestUser(service);
  const { redirectUrl } = await admin.completeLogin({ loginIntentId, userId });
  const { pathname, search } = new URL(redirectUrl);
  const allowed = await browser.submit(await browser.open(pathname + search), '/oidc/consent', { choice: 'allow' });
  const { code = '' } = parametersOf(allowed.location);
  const form = { grant_type: 'authorization_code', code, code_verifier: CODE_VERIFIER, resource: RESOURCE };
  return { clientId, tokens: (await post(service, '/oidc/token', { ...form, client_id: clientId })).body };
}

/** Signs a user in to the application, and returns what it gets. */
async function signInAt(tenant = shop) {
  return (await redeem(service, tenant, await signInForCode(service, tenant, await createTestUser(service)))).body;
}

const introspect = async (token: string | undefined, as = shop) =>
  (await post(service, '/oidc/introspect', { token: token ?? '' }, basicOf(as))).body;

describe('a client that nobody has registered', () => {
  test.each<[string, Readonly<Record<string, string>>, string | undefined]>([
    ['for its resource, which it need not name', {}, undefined],
    ['for its resource by name', { resource: RESOURCE }, undefined],
    ['for its resource with a slash at the end', { resource: `${RESOURCE}/` }, undefined],
    ['for another resource', { resource: OTHER }, 'invalid_target'],
    ['for a resource that is none', { resource: `${RESOURCE}/v2` }, 'invalid_target'],
    ['with a text that is no token', { refresh_token: 'urt_x' }, 'invalid_grant'],
    [
      'as a device, which only registered clients have',
      { grant_type: DEVICE_GRANT, resource: RESOURCE },
      'unauthorized_client',
    ],
    ['as a machine', { grant_type: 'client_credentials', resource: RESOURCE }, 'unauthorized_client'],
  ])('refreshes %s', async (_, changes, error) => {
    const { clientId, tokens } = await signIn();
    const own = { grant_type: 'refresh_token', client_id: clientId, refresh_token: tokens.refresh_token ?? '' };
    const form = { ...own, ...changes };
    expect((await post(service, '/oidc/token', form)).body.error).toBe(error);
  });

  it('can neither refresh nor revoke tokens of the resource itself', async () => {
    const [clientId, own] = [clients.add(), await signInAt()];
    const token = own.refresh_token ?? '';
    const refreshed = { grant_type: 'refresh_token', client_id: clientId, refresh_token: token };
    expect((await post(service, '/oidc/token', refreshed)).body.error).toBe('invalid_grant');
    for (const each of [token, own.access_token ?? ''])
      expect((await post(service, '/oidc/revoke', { client_id: clientId, token: each })).status).toBe(200);
    expect((await introspect(own.access_token)).active).toBe(true);
  });

  test.each(['/oidc/introspect', '/oidc/device_authorization'])('is unknown at %s', async (path) => {
    const reply = await post(service, path, { client_id: clients.add(), token: 'x', resource: RESOURCE });
    expect(reply).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
  });

  it('may revoke its tokens at a resource that is none any more, which ends nothing', async () => {
    const { clientId, tokens } = await signIn();
    await using replica = await fixture.startReplica(clients.config);
    await service.database.sql`update applications set resource_uri = null where id = ${shop.id}`;
    const reply = await post(replica, '/oidc/revoke', { client_id: clientId, token: tokens.refresh_token ?? '' });
    await service.database.sql`update applications set resource_uri = ${RESOURCE} where id = ${shop.id}`;
    expect(reply).toMatchObject({ status: 200, body: {} });
  });
});

test('the tokens of an application are for itself, also if it is a resource', async () => {
  const { access_token, refresh_token } = await signInAt();
  for (const token of [access_token, refresh_token])
    expect(await introspect(token)).toMatchObject({ active: true, aud: shop.clientId, client_id: shop.clientId });
});

it.each<[whose: string, at: typeof shop, statements: readonly string[]]>([
  ['its own grant', shop, ['endOidcGrant']],
  ['no grant of another application, and asks Postgres for none,', plain, []],
])('ends %s without a look-up', async (_, at, statements) => {
  const { access_token, refresh_token } = await signInAt(at);
  using find = vi.spyOn(LiveGrants.prototype, 'find');
  using run = vi.spyOn(Database.prototype, 'run');
  for (const token of [access_token, refresh_token]) {
    run.mockClear();
    expect((await post(service, '/oidc/revoke', { token: token ?? '' }, basicOf(shop))).status).toBe(200);
    expect(run.mock.calls.map(([{ name }]) => name).filter((name) => name.startsWith('endOidc'))).toEqual(statements);
  }
  expect(find).not.toHaveBeenCalled();
});

it('shows no scope of a token that the resource no longer has', async () => {
  const { tokens } = await signIn();
  await service.database.sql`update applications set resource_scopes = '[]' where id = ${shop.id}`;
  await using replica = await fixture.startReplica(clients.config);
  for (const token of [tokens.access_token, tokens.refresh_token]) {
    const { body } = await post(replica, '/oidc/introspect', { token: token ?? '' }, basicOf(shop));
    expect(body).toMatchObject({ active: true, scope: 'openid' });
  }
  const { sql } = service.database;
  await sql`update applications set resource_scopes = ${sql.json(MCP_SERVER.resourceScopes)} where id = ${shop.id}`;
});

it('takes a token from a form that was posted, and from no other', async () => {
  const { access_token = '' } = await signInAt();
  const body = `access_token=${access_token}`;
  // Without its length, Node sends no body with a GET.
  const asked = { path: '/oidc/userinfo', body, headers: { ...FORM, 'content-length': String(body.length) } };
  for (const [method, status] of [
    ['POST', 200],
    ['GET', 401],
  ] as const)
    expect((await request(service.url, { method, ...asked })).status).toBe(status);
});

describe('a form', () => {
  const send = (body: string, headers: Readonly<Record<string, string>> = FORM) =>
    request(service.url, { path: '/oidc/token', body, headers: { ...headers, ...basicOf(plain) } });

  test.each([
    [16_384, 400, 'unsupported_grant_type'],
    [16_385, 413, 'invalid_request'],
  ])('of %i bytes is answered with %i', async (size, status, error) => {
    const reply = await send('grant_type=none&more='.padEnd(size, 'a'));
    expect([reply.status, JSON.parse(reply.body).error]).toEqual([status, error]);
  });

  it('must be one, or the request is invalid', async () => {
    const { status, body } = await send('grant_type=none', { 'content-type': 'text/plain' });
    expect([status, JSON.parse(body).error]).toEqual([400, 'invalid_request']);
  });
});

test.each<[string, string, Record<string, string>]>([
  ['asks what a page may send, but is no page,', 'OPTIONS', { 'access-control-request-method': 'POST' }],
  ['is a page, but asks nothing,', 'OPTIONS', { origin: 'https://page.test' }],
  ['is a page with another method', 'GET', { origin: 'https://page.test', 'access-control-request-method': 'POST' }],
])('whoever %s is told the methods', async (_, method, headers) => {
  const reply = await request(service.url, { method, path: '/oidc/token', headers });
  expect([reply.status, reply.headers.allow]).toEqual([405, 'POST']);
});

describe('what goes wrong in Usher', () => {
  const readyCode = async () => signInForCode(service, plain, await createTestUser(service));
  const answerTo = async (code: string) => {
    const { status, body } = await redeem(service, plain, code);
    return [status, body.error];
  };

  it.each([
    [new Error('broken'), [500, 'server_error']],
    [new ServiceError('SERVICE_UNAVAILABLE'), [503, 'temporarily_unavailable']],
  ])('is not blamed on the client: %s', async (error, expected) => {
    const sign = vi.spyOn(OidcSigningKeys.prototype, 'sign').mockRejectedValueOnce(error);
    onTestFinished(() => sign.mockRestore());
    expect(await answerTo(await readyCode())).toEqual(expected);
  });

  it('does not make a secret wrong', async () => {
    const code = await readyCode();
    const unavailable = new ServiceError('SERVICE_UNAVAILABLE');
    const authenticate = vi.spyOn(ApiKeys.prototype, 'authenticate').mockRejectedValueOnce(unavailable);
    onTestFinished(() => authenticate.mockRestore());
    expect(await answerTo(code)).toEqual([503, 'temporarily_unavailable']);
  });

  it.each([
    [new Error('broken'), 500],
    [new ServiceError('SERVICE_UNAVAILABLE'), 503],
  ])('is shown to the person, and not told to the application: %s', async (error, status) => {
    const find = vi.spyOn(Resources.prototype, 'findByUri').mockRejectedValueOnce(error);
    onTestFinished(() => find.mockRestore());
    const page = await new LoginBrowser(service).open(
      `/oidc/authorize?${authorizationOf(plain, { resource: RESOURCE })}`,
    );
    expect(page).toMatchObject({ status, heading: 'We cannot sign you in right now', location: undefined });
  });

  it('signs nobody out by an answer to prompt=none', async () => {
    const browser = new LoginBrowser(service);
    const login = await beginOidcLogin(browser, plain);
    await (await fixture.readyByEmail({ of: plain, browser, login })).submit();
    const ask = () => browser.open(`/oidc/authorize?${authorizationOf(plain, { prompt: 'none' })}`);
    const answer = vi.spyOn(AuthTokens.prototype, 'protocolOf').mockImplementationOnce(() => {
      throw new Error('broken');
    });
    onTestFinished(() => answer.mockRestore());
    expect(await ask()).toMatchObject({ status: 500, location: undefined });
    expect(parametersOf((await ask()).location)).toHaveProperty('code');
  });
});
