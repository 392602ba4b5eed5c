/** Clients that nobody has registered: the URL of their metadata is their ID. */
import { decodeJwt } from 'jose';
import { afterAll, describe, expect, it, test } from 'vitest';
import { parseClientHosts } from '../../../../src/modules/oidc/clients/client-url.ts';
import { openAccount } from '../../../support/account-page.ts';
import { MCP_SERVER, startClientServers } from '../../../support/client-metadata.ts';
import { MINUTE } from '../../../support/clock.ts';
import { request } from '../../../support/http.ts';
import { LoginBrowser } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import {
  authorizationOf,
  beginOidcLogin,
  CODE_VERIFIER,
  createRsaJwk,
  loginAt,
  parametersOf,
} from '../../../support/oidc.ts';
import { basicOf, getUserinfo, post } from '../../../support/oidc-client.ts';
import {
  adminClient,
  clientsOf,
  createTenant,
  createTestUser,
  PUBLIC_URL,
  REDIRECT_URI,
  type Tenant,
} from '../../../support/service.ts';

type Changes = Readonly<Record<string, string | undefined>>;

const clients = await startClientServers();
const { config } = clients;
const fixture = await LoginFixture.open({ config, oidcSigningKeys: [createRsaJwk()] });
const { service } = fixture;
afterAll(async () => {
  await fixture.close();
  await clients[Symbol.asyncDispose]();
});
const admin = adminClient(service);
const RESOURCE = 'https://mcp.app.test/mcp';
const resourceScopes = [...MCP_SERVER.resourceScopes, { name: 'orders:write', description: 'Order things' }];
const shop = await createTenant(service, { ...MCP_SERVER, resourceScopes, resourceUri: RESOURCE });
const OTHER_URI = 'https://other.app.test/';
const other = await createTenant(service, { ...MCP_SERVER, name: 'Other MCP', resourceScopes, resourceUri: OTHER_URI });
const REMOTE = 'https://assistant.test/callback';
const LOCAL = 'http://localhost:49152/callback';
const CURSOR = 'cursor://anysphere.cursor-mcp/oauth/callback';
const METHODS = (methods: unknown) => ({ token_endpoint_auth_methods_supported: methods });

const wanted = (clientId: string, changes: Changes = {}) =>
  authorizationOf({ clientId }, { redirect_uri: REMOTE, resource: RESOURCE, scope: 'orders:read', ...changes });

const ask = (clientId: string, changes: Changes = {}, more = '', browser = new LoginBrowser(service)) =>
  browser.open(`/oidc/authorize?${wanted(clientId, changes)}${more}`);

/** Signs in, and returns the browser at the page that asks for consent. */
async function arrive(
  clientId: string,
  changes: Changes = {},
  by: { browser?: LoginBrowser; user?: { id: string; email: string } } = {},
) {
  const browser = by.browser ?? new LoginBrowser(service);
  const login = loginAt((await ask(clientId, changes, '', browser)).location);
  const ready = await fixture.readyByEmail({ browser, login, ...(by.user && { user: by.user }) } as never);
  const answer = await ready.submit();
  const consent = new URL(answer.location ?? '');
  expect(consent.origin + consent.pathname).toBe(`${PUBLIC_URL}/oidc/consent`);
  const path = consent.pathname + consent.search;
  return { browser, user: ready.user, path, loginIntentId: login.loginIntentId, page: await browser.open(path) };
}

async function allow({ browser, page }: Pick<Awaited<ReturnType<typeof arrive>>, 'browser' | 'page'>) {
  return browser.submit(page, '/oidc/consent', { choice: 'allow' });
}

const redeem = (clientId: string, location: string | undefined, changes: Changes = {}) => {
  const fields = {
    grant_type: 'authorization_code',
    client_id: clientId,
    code: parametersOf(location).code ?? '',
    redirect_uri: REMOTE,
    code_verifier: CODE_VERIFIER,
    resource: RESOURCE,
    ...changes,
  };
  const sent = Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return post(service, '/oidc/token', Object.fromEntries(sent));
};

const refresh = (clientId: string, refreshToken: string | undefined, changes: Readonly<Record<string, string>> = {}) =>
  post(service, '/oidc/token', {
    ...{ grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken ?? '' },
    ...changes,
  });

async function signIn(clientId: string, changes: Changes = {}) {
  const arrived = await arrive(clientId, changes);
  const { location } = await allow(arrived);
  const { status, body } = await redeem(clientId, location, { redirect_uri: changes.redirect_uri ?? REMOTE });
  expect([status, body]).toEqual([200, expect.anything()]);
  return { ...arrived, body };
}

const consentsOf = ({ id }: { readonly id: string }) =>
  service.database.sql`select client_id from usher.consents where user_id = ${id}`;

const introspect = (as: Tenant, token: string | undefined) =>
  post(service, '/oidc/introspect', { token: token ?? '' }, basicOf(as));

describe('a client of a URL', () => {
  it('gets tokens that name the resource, which alone introspects them', async () => {
    const clientId = clients.add();
    const { user, body } = await signIn(clientId, { scope: 'openid email orders:write unknown orders:read groups' });
    expect(body.scope).toBe('openid email orders:read orders:write');
    expect(decodeJwt(body.id_token ?? '')).toMatchObject({ aud: clientId, sub: user.id, email: user.email });
    const inspected = await introspect(shop, body.access_token);
    expect(inspected.body).toMatchObject({
      ...{ active: true, iss: PUBLIC_URL, aud: RESOURCE, client_id: clientId, sub: user.id },
      scope: 'openid email orders:read orders:write',
    });
    expect((await introspect(other, body.access_token)).body).toEqual({ active: false });
    expect((await getUserinfo(service, body.access_token)).body).toMatchObject({ sub: user.id });
  });

  it('gets no ID token without openid, and without a scope asks for all that the resource has', async () => {
    for (const [asked, scope] of [
      [undefined, 'orders:read orders:write'],
      ['offline_access', 'offline_access orders:read orders:write'],
    ] as const) {
      const { body, page } = await signIn(clients.add(), { scope: asked });
      expect(page.body).toContain('See your orders');
      expect(page.body).toContain('Order things');
      expect(body).not.toHaveProperty('id_token');
      expect(body.scope).toBe(scope);
      expect((await introspect(shop, body.access_token)).body).toMatchObject({ active: true, scope });
    }
  });

  it('gets no username, of which the page says nothing', async () => {
    const { body } = await signIn(clients.add(), { scope: 'openid profile' });
    const claims = [decodeJwt(body.id_token ?? ''), (await getUserinfo(service, body.access_token)).body];
    for (const each of claims) expect(Object.keys(each)).not.toEqual(expect.arrayContaining(['preferred_username']));
  });

  it('asks for openid without a scope where the resource has none', async () => {
    const resource = 'https://plain.app.test/';
    await createTenant(service, { ...MCP_SERVER, resourceScopes: [], resourceUri: resource });
    const clientId = clients.add();
    const arrived = await arrive(clientId, { scope: undefined, resource });
    // There is nothing to list.
    expect(arrived.page.body).not.toMatch(/<ul>|>\s*true/);
    const { location } = await allow(arrived);
    expect((await redeem(clientId, location, { resource })).body.scope).toBe('openid');
  });

  it('refreshes with less, and without what the resource no longer has', async () => {
    const clientId = clients.add();
    const { body } = await signIn(clientId, { scope: 'orders:read orders:write' });
    const less = await refresh(clientId, body.refresh_token, { scope: 'orders:read' });
    expect(less.body.scope).toBe('orders:read');
    expect((await introspect(shop, less.body.access_token)).body.scope).toBe('orders:read');
    expect(await refresh(clients.add(), less.body.refresh_token)).toMatchObject({ body: { error: 'invalid_grant' } });
    const again = await refresh(clientId, less.body.refresh_token);
    // The wrong client has shown that the token was stolen.
    expect(again.body.error).toBe('invalid_grant');
  });

  it('refreshes with nothing that it was not granted', async () => {
    const clientId = clients.add();
    const { body } = await signIn(clientId, { scope: 'orders:read' });
    const more = await refresh(clientId, body.refresh_token, { scope: 'orders:write' });
    expect(more).toMatchObject({ status: 400, body: { error: 'invalid_scope' } });
    // The error has not replaced the token.
    for (const { refresh_token: token } of [body, (await refresh(clientId, body.refresh_token)).body])
      expect((await refresh(clientId, token)).body.scope).toBe('orders:read');
  });

  it('has its code redeemed by nobody else, and only for the resource that it named', async () => {
    const clientId = clients.add();
    const { location } = await allow(await arrive(clientId));
    for (const [changes, error] of [
      [{ resource: undefined }, 'invalid_target'],
      [{ resource: 'https://other.app.test/' }, 'invalid_target'],
      [{ client_id: clients.add() }, 'invalid_grant'],
      [{ client_id: 'https://elsewhere.test/client' }, 'invalid_client'],
      [{ client_id: shop.clientId, client_secret: shop.apiKey, resource: undefined }, 'invalid_target'],
      [{ client_secret: 'secret' }, 'invalid_client'],
      [{ code_verifier: 'w'.repeat(43) }, 'invalid_grant'],
      [{ redirect_uri: LOCAL }, 'invalid_grant'],
    ] as const) {
      expect([changes, (await redeem(clientId, location, changes)).body.error]).toEqual([changes, error]);
    }
    expect((await redeem(clientId, location)).status).toBe(200);
    expect((await redeem(clientId, location)).body.error).toBe('invalid_grant');
  });

  it('has a code that no later change of its document helps', async () => {
    const [elsewhere, changed] = ['https://thief.test/callback', { redirect_uris: ['https://thief.test/callback'] }];
    const document = { client_name: 'Assistant', redirect_uris: [REMOTE] };
    const clientId: string = clients.serve('/changes', (_, response) => {
      const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
      response.writeHead(200, headers).end(JSON.stringify({ client_id: clientId, ...document }));
    });
    const arrived = await arrive(clientId);
    Object.assign(document, changed);
    expect(await ask(clientId)).toMatchObject({ status: 400, location: undefined });
    expect(await ask(clientId, { redirect_uri: elsewhere })).toMatchObject({ status: 303 });
    const { location } = await allow(arrived);
    expect(location?.startsWith(`${REMOTE}?`)).toBe(true);
    for (const [change, error] of [
      [{ redirect_uri: elsewhere }, 'invalid_grant'],
      [{ client_id: clients.add(changed) }, 'invalid_grant'],
      [{ code_verifier: 'w'.repeat(43) }, 'invalid_grant'],
    ] as const) {
      expect([change, (await redeem(clientId, location, change)).body.error]).toEqual([change, error]);
    }
    expect((await redeem(clientId, location)).status).toBe(200);
  });

  it('sees the name and picture of a user, but no attributes, which operators store', async () => {
    const resource = 'https://attributes.app.test/';
    const known = await createTenant(service, { openIdConnect: true });
    const rules = { resourceUri: resource, attributeClaims: ['plan'], machineClientIds: [known.clientId] };
    await createTenant(service, { ...MCP_SERVER, ...rules });
    const clientId = clients.add();
    const user = await createTestUser(service, { name: 'Ada' });
    await admin.updateUser({ userId: user.id, attributes: { plan: 'pro' } });
    const scope = 'openid profile';
    const { location } = await allow(await arrive(clientId, { resource, scope }, { user }));
    const { body } = await redeem(clientId, location, { resource });
    const refreshed = (await refresh(clientId, body.refresh_token)).body;
    const userinfo = (await getUserinfo(service, refreshed.access_token)).body;
    for (const claims of [decodeJwt(body.id_token ?? ''), decodeJwt(refreshed.id_token ?? ''), userinfo]) {
      expect(claims).toMatchObject({ name: 'Ada' });
      expect(claims).not.toHaveProperty('plan');
    }
    // A client that operators know sees those that the resource lists.
    const browser = new LoginBrowser(service);
    const login = await beginOidcLogin(browser, known, { scope, resource });
    const { code = '' } = parametersOf(
      (await (await fixture.readyByEmail({ browser, login, user })).submit()).location,
    );
    const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, code_verifier: CODE_VERIFIER };
    const ofKnown = (await post(service, '/oidc/token', { ...form, resource }, basicOf(known))).body;
    expect(decodeJwt(ofKnown.id_token ?? '')).toMatchObject({ plan: 'pro' });
    expect((await getUserinfo(service, ofKnown.access_token)).body).toMatchObject({ plan: 'pro' });
  });

  it.each([true, false])('ends its own tokens by a logout with its ID token, from that browser: %s', async (isHere) => {
    const clientId = clients.add();
    const { browser, user, body } = await signIn(clientId, { scope: 'openid' });
    const elsewhere = await arrive(clientId, { scope: 'openid' }, { user });
    const { body: others } = await redeem(clientId, elsewhere.page.location);
    const by = isHere ? browser : new LoginBrowser(service);
    const reply = await by.open(`/oidc/logout?id_token_hint=${body.id_token}`);
    expect(reply.heading).toBe('You are signed out');
    expect((await getUserinfo(service, body.access_token)).status).toBe(401);
    expect((await refresh(clientId, body.refresh_token)).body.error).toBe('invalid_grant');
    expect((await getUserinfo(service, others.access_token)).status).toBe(200);
  });

  it('revokes its own tokens, and no others', async () => {
    const [clientId, stranger] = [clients.add(), clients.add()];
    const { body } = await signIn(clientId);
    const revoke = (as: string, token = body.refresh_token ?? '') =>
      post(service, '/oidc/revoke', { client_id: as, token });
    expect([(await revoke(stranger)).status, (await revoke(clientId, 'no token')).status]).toEqual([200, 200]);
    expect((await post(service, '/oidc/revoke', { token: body.access_token ?? '' }, basicOf(shop))).status).toBe(200);
    expect((await introspect(shop, body.access_token)).body.active).toBe(true);
    await revoke(clientId);
    expect((await introspect(shop, body.access_token)).body.active).toBe(false);
  });

  it('lets pages of any origin read what it gets', async () => {
    const clientId = clients.add();
    const { location } = await allow(await arrive(clientId));
    const form = { client_id: clientId, code: parametersOf(location).code ?? '', grant_type: 'authorization_code' };
    const reply = await post(service, '/oidc/token', { ...form, resource: RESOURCE }, { origin: 'https://page.test' });
    expect(reply.headers['access-control-allow-origin']).toBe('https://page.test');
  });
});

describe('the checks of a request', () => {
  test.each([
    'https://elsewhere.test/client',
    'https://client.test/client',
    'https://c.client.test',
    'https://c.client.test/',
    'https://c.client.test:8443/client',
    'https://user@c.client.test/client',
    'https://c.client.test/a/../client',
    'https://c.client.test/%2e%2e/client',
    'https://c.client.test/client#part',
    'https://C.client.test/client',
    'https://c.client.test/\\client',
    `https://c.client.test/${'a'.repeat(512)}`,
    'http://c.client.test/client',
  ])('know no client %s, and fetch nothing', async (clientId) => {
    const before = clients.asked.length;
    const page = await ask(clientId);
    expect(page).toMatchObject({ status: 400, heading: 'This application cannot sign you in', location: undefined });
    expect(clients.asked).toHaveLength(before);
  });

  const UNAVAILABLE = { status: 502, heading: 'This application cannot be checked', location: undefined };

  test.each<[string, Record<string, unknown>]>([
    ['another client_id', { client_id: 'https://c.client.test/other' }],
    ['a client_id with a slash more', { client_id: undefined }],
    ['no name', { client_name: undefined }],
    ['an empty name', { client_name: ' ' }],
    ['a name of 101 characters', { client_name: 'a'.repeat(101) }],
    ['a name of two lines', { client_name: 'a\nb' }],
    ['a name that turns its direction', { client_name: 'a\u202eb' }],
    ['no redirect URI', { redirect_uris: [] }],
    ['21 redirect URIs', { redirect_uris: Array(21).fill(REMOTE) }],
    ['redirect URIs that cannot be registered alone', { redirect_uris: [CURSOR, 'http://192.168.1.5:6274/cb', 1] }],
    ['redirect URIs that are no list', { redirect_uris: REMOTE }],
    ['a method with a secret', { token_endpoint_auth_method: 'client_secret_basic' }],
    ['a method with a key', { token_endpoint_auth_method: 'private_key_jwt' }],
    ['methods without none', { token_endpoint_auth_method: undefined, ...METHODS(['private_key_jwt']) }],
    ['methods that are no list', { token_endpoint_auth_method: 'private_key_jwt', ...METHODS('none') }],
    ['a secret', { client_secret: 'x' }],
    ['the end of a secret', { client_secret_expires_at: 0 }],
  ])('refuse a document with %s', async (_, changes) => {
    expect(await ask(clients.add(changes))).toMatchObject(UNAVAILABLE);
  });

  it('take the document of ChatGPT, which prefers a key and can do without', async () => {
    const redirect = 'https://chatgpt.com/connector/oauth/IbUR3zxyNQ16';
    const clientId = clients.add({
      client_uri: 'https://chatgpt.com/',
      redirect_uris: [redirect],
      token_endpoint_auth_method: 'private_key_jwt',
      ...METHODS(['none', 'private_key_jwt']),
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      client_name: 'ChatGPT',
      token_endpoint_auth_signing_alg: 'RS256',
      jwks_uri: 'https://chatgpt.com/oauth/jwks.json',
    });
    const { body } = await signIn(clientId, { redirect_uri: redirect });
    expect((await introspect(shop, body.access_token)).body).toMatchObject({ active: true, client_id: clientId });
    expect((await refresh(clientId, body.refresh_token)).status).toBe(200);
  });

  it('leave out the redirect URIs of a document that no client may have', async () => {
    const unusable = [CURSOR, 'http://192.168.1.5:6274/cb', 1, `https://assistant.test/${'a'.repeat(2_048)}`];
    const clientId = clients.add({ redirect_uris: [...unusable, REMOTE] });
    for (const uri of unusable.map(String))
      expect(await ask(clientId, { redirect_uri: uri })).toMatchObject({ status: 400, location: undefined });
    expect((await signIn(clientId)).body).toHaveProperty('access_token');
  });

  it('take a document that says more than is used, and grants nothing to itself', async () => {
    const more = {
      scope: 'orders:write',
      grant_types: ['client_credentials'],
      logo_uri: 'https://assistant.test/l.png',
    };
    const clientId = clients.add({
      ...more,
      client_name: '\u{1F6AA}'.repeat(100),
      token_endpoint_auth_method: undefined,
    });
    const { page } = await arrive(clientId);
    expect(page.body).not.toContain('assistant.test/l.png');
    expect(page.body).not.toContain('Order things');
  });

  test.each<[string, Changes, string, object]>([
    ['another path', { redirect_uri: `${REMOTE}/` }, '', { status: 400 }],
    ['another port of localhost', { redirect_uri: LOCAL }, '', { status: 303 }],
    ['another port of the address', { redirect_uri: 'http://127.0.0.1:9/callback' }, '', { status: 303 }],
    ['no redirect URI', { redirect_uri: undefined }, '', { status: 400 }],
  ])('compare the redirect URI: %s', async (_, changes, more, expected) => {
    expect(await ask(clients.add(), changes, more)).toMatchObject(expected);
  });

  test.each<[string, Changes, string, string]>([
    ['no resource', { resource: undefined }, '', 'invalid_target'],
    ['two resources', {}, `&resource=${encodeURIComponent(RESOURCE)}`, 'invalid_target'],
    ['an unknown resource', { resource: 'https://mcp.app.test/' }, '', 'invalid_target'],
    ['no challenge', { code_challenge: undefined, code_challenge_method: undefined }, '', 'invalid_request'],
    ['a method without a challenge', { code_challenge: undefined }, '', 'invalid_request'],
    ['the method plain', { code_challenge_method: 'plain' }, '', 'invalid_request'],
    ['no sign-in', { prompt: 'none' }, '', 'login_required'],
    ['an unknown scope', { scope: 'mcp:tools' }, '', 'invalid_scope'],
    ['groups alone, which are for clients that operators know', { scope: 'groups' }, '', 'invalid_scope'],
  ])('tell the client of %s', async (_, changes, more, error) => {
    const { location } = await ask(clients.add(), changes, more);
    expect(location?.startsWith(REMOTE)).toBe(true);
    expect(parametersOf(location)).toMatchObject({ error, iss: PUBLIC_URL });
  });

  it('compare resources without the slashes at their ends', async () => {
    expect(await ask(clients.add(), { resource: `${RESOURCE}//` })).toMatchObject({ status: 303 });
    const { location } = await ask(clients.add(), { resource: 'https://other.app.test' });
    expect(location).toContain(`client_id=${other.clientId}`);
  });

  it('refuse a resource that lets no such clients ask', async () => {
    const closed = await createTenant(service, { openIdConnect: true });
    const resourceUri = 'https://closed.app.test/';
    await admin.updateApplication({ applicationId: closed.id, resourceUri });
    const { location } = await ask(clients.add(), { resource: resourceUri });
    expect(parametersOf(location).error).toBe('invalid_target');
  });
});

it('tells whoever asks for too many documents of a host to come back, but knows those that it has', async () => {
  await using replica = await fixture.startReplica(config);
  const clientId = clients.add();
  const askReplica = (id: string) => new LoginBrowser(replica).open(`/oidc/authorize?${wanted(id)}`);
  const { origin } = new URL(clientId);
  expect(await askReplica(clientId)).toMatchObject({ status: 303 });
  const before = clients.asked.length;
  // Ten at once, so that hardly a permit comes back meanwhile: one does every two seconds.
  const pages: Awaited<ReturnType<typeof askReplica>>[] = [];
  const isRefused = ({ status }: { status: number }) => status === 429;
  while (!pages.some(isRefused) && pages.length < 300) {
    const urls = Array.from({ length: 10 }, (_, at) => `${origin}/none/${pages.length + at}`);
    pages.push(...(await Promise.all(urls.map(askReplica))));
  }
  expect(pages.find(isRefused)).toMatchObject({ status: 429, location: undefined });
  const fetched = pages.filter(({ status }) => status === 502);
  // A network has half of the permits of a host.
  expect(fetched.length).toBeGreaterThanOrEqual(15);
  expect(fetched).toHaveLength(pages.length - pages.filter(isRefused).length);
  expect(clients.asked).toHaveLength(before + fetched.length);
  expect(await askReplica(clientId)).toMatchObject({ status: 303 });
});

describe('access', () => {
  const isActive = async (token: string | undefined) => (await introspect(shop, token)).body.active;

  it('is listed and ended on the account page', async () => {
    const clientId = clients.add({ client_name: 'Assistant of Ada' });
    const { user, body } = await signIn(clientId);
    const { browser, page: account } = await openAccount(fixture, user);
    expect(account.body).toContain('Assistant of Ada');
    expect(account.body).toContain('Shop MCP');
    const { sessions } = clientsOf(service, shop);
    const { until: since } = await sessions.listRevocations({});
    const { body: status } = await introspect(shop, body.access_token);
    const answer = await browser.submit(account, '/account/clients/end', {});
    const { revocations } = await sessions.listRevocations({ since });
    expect(revocations.map(({ subject }) => subject.value)).toContain(status.grant_id);
    const after = await browser.open('/account');
    for (const gone of ['Assistant of Ada', 'Clients with access']) {
      expect(account.body).toContain(gone);
      expect(after.body).not.toContain(gone);
    }
    expect(answer.body).toContain('The access has ended.');
    expect(await isActive(body.access_token)).toBe(false);
    expect((await refresh(clientId, body.refresh_token)).body.error).toBe('invalid_grant');
    expect(await service.database.sql`select from consents where client_id = ${clientId}`).toHaveLength(0);
  });
});

test.each<[string, { allowMetadataClients?: boolean; hosts?: string }]>([
  ['resource', { allowMetadataClients: false }],
  ['host', { hosts: 'elsewhere.test' }],
])('tokens are dead once their %s lets no such client ask', async (_, { hosts, ...changes }) => {
  const clientId = clients.add();
  const { body } = await signIn(clientId);
  await admin.updateApplication({ applicationId: shop.id, ...changes });
  try {
    // Other replicas hear of it within five seconds.
    await using replica = await fixture.startReplica({
      ...config,
      ...(hosts && { clientMetadataHosts: parseClientHosts(hosts) }),
    });
    for (const token of [body.access_token, body.refresh_token])
      expect((await post(replica, '/oidc/introspect', { token: token ?? '' }, basicOf(shop))).body.active).toBe(false);
    expect(await getUserinfo(replica, body.access_token)).toMatchObject({ status: 401 });
  } finally {
    await admin.updateApplication({ applicationId: shop.id, allowMetadataClients: true });
  }
});

test('a user who was removed from the resource has lost the access of clients, and is asked again', async () => {
  const clientId = clients.add();
  const { browser, user, body } = await signIn(clientId);
  await admin.removeApplicationUser({ applicationId: shop.id, userId: user.id });
  expect((await introspect(shop, body.access_token)).body.active).toBe(false);
  expect((await refresh(clientId, body.refresh_token)).body.error).toBe('invalid_grant');
  expect((await arrive(clientId, {}, { browser, user })).page).toMatchObject({ status: 200, heading: 'Allow access?' });
});

describe('consent', () => {
  it('names the client, its host, the resource, the person, the scopes and the way back', async () => {
    const { page, user } = await arrive(clients.add({ client_name: 'Claude <b>Code' }), {
      scope: 'email orders:read',
    });
    for (const text of [
      'Claude ',
      '.client.test',
      'Shop MCP',
      user.email.split('@')[0] ?? '',
      'See your orders',
      'See your e-mail address',
      'assistant.test',
    ]) {
      expect(page.body).toContain(text);
    }
    expect(page.body).not.toContain('<b>');
    expect(page.body).not.toContain('Order things');
    expect(page.body).not.toContain('Any program on this computer');
    expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(page.headers['referrer-policy']).toBe('no-referrer');
  });

  it('is needed before a code works, and given once', async () => {
    const clientId = clients.add();
    const arrived = await arrive(clientId);
    const twice = [await allow(arrived), await allow(arrived)];
    expect(twice[0]?.location).toBe(twice[1]?.location);
    expect((await redeem(clientId, twice[0]?.location)).status).toBe(200);
    expect(await allow(arrived)).toMatchObject({ status: 409, location: undefined });
  });

  it('counts the minute of the code from its own instant', async () => {
    const clientId = clients.add();
    const arrived = await arrive(clientId);
    fixture.clock.advance(20 * MINUTE);
    const { location } = await allow(arrived);
    expect((await redeem(clientId, location)).status).toBe(200);
    const late = await arrive(clientId, { prompt: 'consent' });
    fixture.clock.advance(31 * MINUTE);
    expect(await allow(late)).toMatchObject({ status: 410 });
  });

  it('that is denied is told to the client, and ends the code', async () => {
    const arrived = await arrive(clients.add());
    const deny = () => arrived.browser.submit(arrived.page, '/oidc/consent', { choice: 'deny' });
    for (const { location } of [await deny(), await deny()]) {
      expect(location?.startsWith(REMOTE)).toBe(true);
      expect(parametersOf(location)).toMatchObject({ error: 'access_denied', iss: PUBLIC_URL });
    }
    expect(await arrived.browser.open(arrived.path)).toMatchObject({ status: 409, location: undefined });
    expect(await allow(arrived)).toMatchObject({ status: 409, location: undefined });
    expect(await consentsOf(arrived.user)).toEqual([]);
  });

  it('of a user who was erased at the page is not stored', async () => {
    const arrived = await arrive(clients.add());
    await admin.eraseUser({ userId: arrived.user.id });
    await allow(arrived);
    expect(await consentsOf(arrived.user)).toEqual([]);
  });

  it('is remembered for https, until the client asks for more', async () => {
    const clientId = clients.add();
    const { browser, user } = await signIn(clientId);
    const again = await arrive(clientId, {}, { browser, user });
    expect(again.page).toMatchObject({ status: 303 });
    expect((await redeem(clientId, again.page.location)).status).toBe(200);
    const more = await arrive(clientId, { scope: 'orders:read orders:write' }, { browser, user });
    expect(more.page).toMatchObject({ status: 200, heading: 'Allow access?' });
    const forced = await arrive(clientId, { prompt: 'consent' }, { browser, user });
    expect(forced.page).toMatchObject({ status: 200, heading: 'Allow access?' });
  });

  it('adds to what was consented to before', async () => {
    const clientId = clients.add();
    const first = await signIn(clientId, { scope: 'orders:read' });
    const second = await arrive(clientId, { scope: 'orders:write' }, { user: first.user });
    expect(second.page.status).toBe(200);
    await allow(second);
    for (const scope of ['orders:read', 'orders:write', 'orders:read orders:write'])
      expect((await arrive(clientId, { scope }, { user: first.user })).page.status).toBe(303);
    expect((await refresh(clientId, first.body.refresh_token)).status).toBe(200);
  });

  it.each<[string, columns: object, isRemembered: boolean]>([
    ['its own', {}, true],
    ['that of another user', { user_id: crypto.randomUUID() }, false],
    ['that at another resource', { application_id: other.id }, false],
    ['that to another client', { client_id: 'https://other.client.test/' }, false],
    ['that to something else', { scope_names: ['openid', 'orders:write'] }, false],
    ['that to more', { scope_names: ['openid', 'orders:write', 'orders:read'] }, true],
  ])('is remembered, and keeps a sign-in, if it is %s', async (_, columns, isRemembered) => {
    const clientId = clients.add();
    const { body, user } = await signIn(clientId, { scope: 'openid orders:read' });
    const { sql } = service.database;
    // Citus moves no row to another application by an update.
    const [consent] = await sql`delete from usher.consents where user_id = ${user.id} returning *`;
    await sql`insert into usher.consents ${sql({ ...consent, client_id: clientId, ...columns } as never)}`;
    const again = await arrive(clientId, { scope: 'openid orders:read' }, { user });
    expect(again.page.status).toBe(isRemembered ? 303 : 200);
    expect((await refresh(clientId, body.refresh_token)).status).toBe(isRemembered ? 200 : 400);
  });

  it('is asked for each time on this computer, with a warning', async () => {
    const clientId = clients.add();
    const { browser, user } = await signIn(clientId, { redirect_uri: LOCAL });
    expect(await service.database.sql`select from consents where client_id = ${clientId}`).toHaveLength(0);
    const { page } = await arrive(clientId, { redirect_uri: LOCAL }, { browser, user });
    expect(page.body).toContain('an application on this computer');
    expect(page.body).toContain('Any program on this computer can call itself');
  });

  it('is refused to another browser, and to forms of other sites', async () => {
    const { path, page, browser } = await arrive(clients.add());
    expect(await new LoginBrowser(service).open(path)).toMatchObject({ status: 404 });
    expect(await browser.submit(page, '/oidc/consent', { choice: 'allow', token: 'x' })).toMatchObject({ status: 403 });
    expect(await browser.open('/oidc/consent?login=x')).toMatchObject({ status: 404 });
  });

  it('comes before the answer of a page of the operator’s own', async () => {
    const clientId = clients.add();
    const { loginIntentId } = loginAt((await ask(clientId)).location);
    const user = await fixture.readyByEmail();
    const { redirectUrl } = await admin.completeLogin({ loginIntentId, userId: user.user.id });
    const { pathname, search } = new URL(redirectUrl);
    const browser = new LoginBrowser(service);
    const answer = await allow({ browser, page: await browser.open(pathname + search) });
    expect((await redeem(clientId, answer.location)).status).toBe(200);
  });

  it('is given by nobody on behalf of the user, also where it is remembered', async () => {
    const clientId = clients.add();
    const { user } = await signIn(clientId);
    const { loginIntentId } = loginAt((await ask(clientId)).location);
    const { redirectUrl } = await admin.completeLogin({ loginIntentId, userId: user.id, onBehalfBy: 'Support' });
    const { pathname, search } = new URL(redirectUrl);
    const answer = await new LoginBrowser(service).open(pathname + search);
    expect(parametersOf(answer.location)).toEqual({
      error: 'access_denied',
      state: expect.any(String),
      iss: PUBLIC_URL,
    });
    const [intent] = await service.database.sql`
      select consented_at, redeemed_at from usher.login_intents where id = ${loginIntentId}`;
    expect(intent).toEqual({ consented_at: null, redeemed_at: expect.any(Date) });
  });

  it('is not given by prompt=none, which takes one that is remembered', async () => {
    const resource = 'https://shared.app.test/';
    await createTenant(service, { ...MCP_SERVER, resourceScopes, resourceUri: resource, singleSignOn: true });
    const clientId = clients.add();
    const arrived = await arrive(clientId, { resource });
    const askSilently = async (changes: Changes = {}) =>
      (await ask(clientId, { resource, prompt: 'none', ...changes }, '', arrived.browser)).location;
    const missing = { error: 'consent_required', iss: PUBLIC_URL };
    expect(parametersOf(await askSilently())).toMatchObject(missing);
    await allow(arrived);
    expect(parametersOf(await askSilently({ scope: 'orders:read orders:write' }))).toMatchObject(missing);
    expect(parametersOf(await askSilently({ redirect_uri: LOCAL }))).toMatchObject(missing);
    expect((await redeem(clientId, await askSilently(), { resource })).status).toBe(200);
  });

  it('that is taken back ends the access, and is needed again', async () => {
    const clientId = clients.add();
    const { browser, user, body } = await signIn(clientId);
    await service.database.sql`delete from consents where client_id = ${clientId}`;
    expect((await refresh(clientId, body.refresh_token)).body.error).toBe('invalid_grant');
    expect((await arrive(clientId, {}, { browser, user })).page).toMatchObject({ status: 200 });
  });
});

it('is advertised only where it is on', async () => {
  const read = async (url: string) =>
    JSON.parse((await request(url, { path: '/.well-known/openid-configuration' })).body);
  expect(await read(service.url)).toMatchObject({ client_id_metadata_document_supported: true });
  const off = await fixture.startReplica({ clientMetadataHosts: undefined } as never);
  expect(await read(off.url)).not.toHaveProperty('client_id_metadata_document_supported');
  const clientId = clients.add();
  expect(await new LoginBrowser(off).open(`/oidc/authorize?${wanted(clientId)}`)).toMatchObject({ status: 400 });
  await off.close();
});

/** Public x resource x offline_access x openid. */
const MATRIX = [true, false].flatMap((isPublic) =>
  [true, false].flatMap((hasResource) =>
    [true, false].flatMap((offline) =>
      [true, false].map((openid) => [isPublic, hasResource, offline, openid] as const),
    ),
  ),
);

test.each(MATRIX)(
  'a registered client gets tokens: public %s, resource %s, offline_access %s, openid %s',
  async (publicClient, hasResource, offline, openid) => {
    const client = await createTenant(service, { openIdConnect: true, publicClient });
    const resource = hasResource ? { resource: `https://${client.clientId}.app.test` } : {};
    const machine = hasResource ? await createListing(client.clientId) : undefined;
    const scope = ['profile', openid && 'openid', offline && 'offline_access'].filter(Boolean).join(' ');
    const browser = new LoginBrowser(service);
    const login = await beginOidcLogin(browser, client, { scope, ...resource });
    const { submit } = await fixture.readyByEmail({ browser, login });
    const { code = '' } = parametersOf((await submit()).location);
    const as = publicClient ? { client_id: client.clientId } : {};
    const headers = publicClient ? {} : basicOf(client);
    const form = {
      grant_type: 'authorization_code',
      code,
      code_verifier: CODE_VERIFIER,
      redirect_uri: 'https://app.test/callback',
    };
    const reply = await post(service, '/oidc/token', { ...form, ...as, ...resource }, headers);
    expect([reply.status, reply.body]).toEqual([200, expect.anything()]);
    expect('id_token' in reply.body).toBe(openid);
    const refreshed = await post(
      service,
      '/oidc/token',
      { grant_type: 'refresh_token', refresh_token: reply.body.refresh_token ?? '', ...as },
      headers,
    );
    expect(refreshed.status).toBe(200);
    if (machine) {
      expect((await introspect(machine, refreshed.body.access_token)).body).toMatchObject({
        ...{ active: true, client_id: client.clientId, aud: resource.resource },
      });
      await admin.deleteApplication({ applicationId: machine.id });
      if (!publicClient)
        expect((await introspect(client, refreshed.body.access_token)).body).toEqual({ active: false });
    }
  },
);

async function createListing(clientId: string): Promise<Tenant> {
  const tenant = await createTenant(service, { openIdConnect: true });
  await service.database.sql`
    update applications set machine_client_ids = array[${clientId}], resource_uri = ${`https://${clientId}.app.test`}
    where id = ${tenant.id}`;
  return tenant;
}

test('whoever adds a resource to the link of a registered client does not sign in to the client', async () => {
  const client = await createTenant(service, { openIdConnect: true });
  await admin.updateApplication({ applicationId: client.id, restrictAccess: true });
  const resource = `https://${client.clientId}.app.test`;
  await createListing(client.clientId);
  const { loginIntentId } = await beginOidcLogin(new LoginBrowser(service), client, { resource });
  const { id: userId } = await createTestUser(service);
  const { redirectUrl } = await admin.completeLogin({ loginIntentId, userId });
  const { code = '' } = parametersOf(redirectUrl);
  const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, code_verifier: CODE_VERIFIER };
  // The client has asked for nothing but a login of its own, so it names no resource.
  const asItself = await post(service, '/oidc/token', form, basicOf(client));
  expect(asItself).toMatchObject({ status: 400, body: { error: 'invalid_target' } });
  // With it, the rules of both count.
  expect(await post(service, '/oidc/token', { ...form, resource }, basicOf(client))).toMatchObject({
    status: 400,
    body: { error: 'invalid_grant' },
  });
});

test('a registered client that the resource does not list is refused', async () => {
  const client = await createTenant(service, { openIdConnect: true });
  const { location } = await new LoginBrowser(service).open(
    `/oidc/authorize?${authorizationOf(client, { resource: 'https://other.app.test/' })}`,
  );
  expect(parametersOf(location).error).toBe('invalid_target');
});
