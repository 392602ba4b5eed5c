/** What OpenID Connect says of itself, and that it can be off. */
import type { JWK } from 'jose';
import { afterAll, expect, test } from 'vitest';
import { request } from '../../../support/http.ts';
import { createRsaJwk } from '../../../support/oidc.ts';
import { PUBLIC_URL, startTestService } from '../../../support/service.ts';

const METADATA = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'];
const keys = [createRsaJwk('new'), createRsaJwk('old')];
const service = await startTestService({ oidcSigningKeys: keys });

afterAll(() => service.close());

test.each(METADATA)('%s names the endpoints, and what they can do', async (path) => {
  const response = await fetch(service.url + path);
  expect(response.status).toBe(200);
  const headers = ['content-type', 'cache-control', 'access-control-allow-origin'].map((name) =>
    response.headers.get(name),
  );
  expect(headers).toEqual(['application/json', 'public, max-age=300', '*']);
  expect(await response.json()).toMatchObject({
    issuer: PUBLIC_URL,
    authorization_endpoint: `${PUBLIC_URL}/oidc/authorize`,
    token_endpoint: `${PUBLIC_URL}/oidc/token`,
    userinfo_endpoint: `${PUBLIC_URL}/oidc/userinfo`,
    jwks_uri: `${PUBLIC_URL}/oidc/jwks`,
    end_session_endpoint: `${PUBLIC_URL}/oidc/logout`,
    response_types_supported: ['code'],
    response_modes_supported: ['query', 'form_post'],
    device_authorization_endpoint: `${PUBLIC_URL}/oidc/device_authorization`,
    grant_types_supported: [
      'authorization_code',
      'refresh_token',
      'client_credentials',
      'urn:ietf:params:oauth:grant-type:device_code',
    ],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    token_endpoint_auth_methods_supported: expect.arrayContaining(['client_secret_basic', 'client_secret_post']),
    code_challenge_methods_supported: ['S256'],
    scopes_supported: ['openid', 'profile', 'email', 'groups', 'offline_access'],
    claims_supported: expect.arrayContaining(['sub', 'auth_time', 'email_verified']),
    authorization_response_iss_parameter_supported: true,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
  });
});

test.each([...METADATA, '/oidc/jwks', '/oidc/token'])('a page may ask %s with any header', async (path) => {
  const { status, headers } = await request(service.url, {
    method: 'OPTIONS',
    path,
    headers: {
      origin: 'https://page.test',
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'x-own',
    },
  });
  expect(status).toBe(204);
  expect(headers['access-control-allow-origin']).toBe('https://page.test');
  expect(headers['access-control-allow-headers']).toBe('*, Authorization');
});

test('the endpoints are below a PUBLIC_URL with a path, and the issuer is that URL byte for byte', async () => {
  const publicUrl = 'https://Usher.test/base/';
  await using other = await startTestService({
    like: service.config,
    database: service.database,
    config: { publicUrl },
  });
  const metadata = await (await fetch(`${other.url}${METADATA[0]}`)).json();
  expect(metadata).toMatchObject({ issuer: publicUrl, jwks_uri: 'https://Usher.test/base/oidc/jwks' });
  for (const path of METADATA) expect(await (await fetch(`${other.url}${path}/base`)).json()).toEqual(metadata);
});

test('the key set has the public RSA keys alone, in their order', async () => {
  const response = await fetch(`${service.url}/oidc/jwks`);
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
  const expected = keys.map(({ kid, n, e }) => ({ kty: 'RSA', alg: 'RS256', use: 'sig', kid, n, e }));
  expect(await response.json()).toEqual({ keys: expected });
  const authTokens = await fetch(`${service.url}/.well-known/jwks.json`);
  const { keys: others } = (await authTokens.json()) as { keys: JWK[] };
  expect(others.map(({ kty }) => kty)).toEqual(['OKP']);
});

test('HEAD is answered as GET, and other methods are refused in the form of OAuth', async () => {
  const head = await fetch(`${service.url}/oidc/jwks`, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
  const response = await fetch(`${service.url}/oidc/jwks`, { method: 'POST', body: 'a=b' });
  expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  expect(await response.json()).toEqual({ error: 'invalid_request', error_description: 'Method not allowed' });
});

test('without OIDC_SIGNING_KEYS_FILE every path of it answers 404', async () => {
  await using off = await startTestService();
  const paths = [
    ...METADATA,
    ...['jwks', 'authorize', 'return', 'token', 'userinfo', 'logout'].map((name) => `/oidc/${name}`),
  ];
  for (const path of paths) {
    for (const method of ['GET', 'POST']) {
      const response = await fetch(off.url + path, { method });
      expect([path, response.status]).toEqual([path, 404]);
    }
  }
});
