/** Why a request names no place to answer: the log says it to operators, and the page to integrators. */
import { afterAll, describe, expect, test } from 'vitest';
import { startClientServers } from '../../../../support/client-metadata.ts';
import { LoginBrowser } from '../../../../support/login-browser.ts';
import { authorizationOf, createRsaJwk } from '../../../../support/oidc.ts';
import { post } from '../../../../support/oidc-client.ts';
import { RecordedLog } from '../../../../support/recorded-log.ts';
import { createTenant, REDIRECT_URI } from '../../../../support/service.ts';

const clients = await startClientServers();
const log = new RecordedLog();
const service = await log.start({
  oidcSigningKeys: [createRsaJwk()],
  config: clients.config,
});
afterAll(async () => {
  await service.close();
  await clients[Symbol.asyncDispose]();
});
const tenant = await createTenant(service, { openIdConnect: true });
const plain = await createTenant(service);

const COMPARE = 'must equal one of the application’s redirect URIs in every character';
const own = { of: tenant, applicationId: tenant.id };
const none = { of: plain, applicationId: undefined };

test.each([
  ['a slash at the end', own, { redirect_uri: `${REDIRECT_URI}/` }, `${REDIRECT_URI}/`],
  [
    'another scheme',
    own,
    { redirect_uri: REDIRECT_URI.replace('https', 'http') },
    REDIRECT_URI.replace('https', 'http'),
  ],
  ['a query', own, { redirect_uri: 'https://a:b@app.test/x?token=secret&c' }, 'https://…@app.test/x?token=…&c'],
])('%s is logged with the application and the URI, and the page says what to compare', async (_, at, changes, uri) => {
  const page = await new LoginBrowser(service).open(`/oidc/authorize?${authorizationOf(at.of, changes)}`);
  expect(page.status).toBe(400);
  expect(page.body).toContain(COMPARE);
  const { applicationId } = at;
  expect(log.callLines.at(-1)).toMatchObject({ applicationId, detail: `redirect_uri is not registered: ${uri}` });
});

test.each([
  ['redirect_uri is missing', own, { redirect_uri: undefined }],
  ['client_id is missing', { of: tenant, applicationId: undefined }, { client_id: undefined }],
  ['client_id is unknown, or its application has no OpenID Connect', none, {}],
])('the log tells it from another cause: %s', async (detail, at, changes) => {
  await new LoginBrowser(service).open(`/oidc/authorize?${authorizationOf(at.of, changes)}`);
  expect(log.callLines.at(-1)).toMatchObject({ detail, reason: 'invalid_request' });
  expect(log.callLines.at(-1)?.applicationId).toBe(at.applicationId);
});

test('a long URI is cut in the log', async () => {
  const redirect_uri = `https://app.test/${'a'.repeat(2_000)}`;
  await new LoginBrowser(service).open(`/oidc/authorize?${authorizationOf(tenant, { redirect_uri })}`);
  expect(String(log.callLines.at(-1)?.detail).length).toBeLessThan(400);
});

describe('a client of a URL', () => {
  const json = { 'content-type': 'application/json' };
  const serve = (path: string, status: number, headers: Record<string, string>, body: string | null) =>
    clients.serve(path, (_, response) => {
      if (body === null) response.destroy();
      else response.writeHead(status, headers).end(body);
    });

  test.each<[string, () => string, string]>([
    ['a port', () => 'https://c.client.test:8443/client', 'it has the port 8443'],
    ['a host that is not listed', () => 'https://elsewhere.test/c', 'its host is not in CLIENT_METADATA_HOSTS'],
    ['no path', () => 'https://c.client.test/', 'it has no path'],
    ['a user name', () => 'https://user:password@c.client.test/client', 'it has a user name or a password'],
    ['a fragment', () => 'https://c.client.test/client#part', 'it has a fragment or a backslash'],
    ['another spelling', () => 'https://C.client.test/client', 'a URL parser writes it otherwise'],
    ['513 characters', () => `https://c.client.test/${'a'.repeat(491)}`, 'it is longer than 512 characters'],
    ['a space', () => 'https://c.client.test/a b', 'it is no https URL'],
    ['no answer', () => serve('/a', 200, json, null), 'The connection failed'],
    ['another status', () => serve('/b?token=secret', 404, json, ''), 'its status is 404'],
    ['another type', () => serve('/c', 200, { 'content-type': 'text/html' }, '{}'), 'its content type is not JSON'],
    ['an encoding', () => serve('/d', 200, { ...json, 'content-encoding': 'br' }, ''), 'it has a content encoding'],
    ['too many bytes', () => serve('/e', 200, json, ' '.repeat(16_385)), 'it is larger than 16384 bytes'],
    ['no JSON', () => serve('/f', 200, json, '{'), 'it is no JSON object'],
    ['another ID', () => clients.add({ client_id: 'https://c.client.test/' }), 'its client_id is another'],
    ['no name', () => clients.add({ client_name: ' ' }), 'its client_name is not 1 to 100 characters of one line'],
    [
      'a method with a key',
      () => clients.add({ token_endpoint_auth_method: 'private_key_jwt' }),
      'its token_endpoint_auth_methods do not include none',
    ],
    ['a secret', () => clients.add({ client_secret: 'secret' }), 'it has a client_secret'],
    ['no list', () => clients.add({ redirect_uris: 'x' }), 'its redirect_uris are no list of 1 to 20'],
    ['no usable URI', () => clients.add({ redirect_uris: ['cursor://x'] }), 'none of its redirect_uris is usable'],
  ])('is refused with its cause, its host and its ID in the log: %s', async (_, createClient, cause) => {
    const clientId = createClient();
    const { host } = new URL(clientId);
    const page = await new LoginBrowser(service).open(`/oidc/authorize?${authorizationOf({ clientId })}`);
    expect([400, 502]).toContain(page.status);
    expect(page.body).not.toContain(cause);
    const shown = clientId.replace('secret', '…').replace('user:password', '…').slice(0, 300);
    expect(log.callLines.at(-1)).toMatchObject({
      detail: `client refused, ${cause} (host ${host}, client_id ${shown})`,
    });
  });

  test('is refused at the token endpoint with the cause in the log', async () => {
    const clientId = 'https://elsewhere.test/c';
    const { body } = await post(service, '/oidc/token', { grant_type: 'authorization_code', client_id: clientId });
    expect(body).toMatchObject({ error: 'invalid_client' });
    expect(log.callLines.at(-1)?.detail).toContain(
      `CLIENT_METADATA_HOSTS (host elsewhere.test, client_id ${clientId})`,
    );
  });

  test('has a redirect URI that is not usable: the log says which', async () => {
    const redirect_uri = 'cursor://anysphere.cursor-mcp/oauth/callback';
    const clientId = clients.add({ redirect_uris: [redirect_uri, 'https://assistant.test/callback'] });
    await new LoginBrowser(service).open(`/oidc/authorize?${authorizationOf({ clientId }, { redirect_uri })}`);
    expect(log.callLines.at(-1)?.detail).toBe(
      `redirect_uri is none of those that are usable in the client’s metadata: ${redirect_uri}`,
    );
  });

  test('is refused because of too many fetches: the log says so', async () => {
    const { origin } = new URL(clients.add());
    const browser = new LoginBrowser(service);
    for (let path = 0; path < 16; path++)
      await browser.open(`/oidc/authorize?${authorizationOf({ clientId: `${origin}/none/${path}` })}`);
    expect(log.callLines.at(-1)?.detail).toContain(`too many fetches (host ${new URL(origin).host}`);
  });
});
