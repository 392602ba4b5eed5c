/** Redirect URIs match exactly, and nothing in a request gets into authUrl. */
import type { JsonObject } from '@bufbuild/protobuf';
import { afterAll, describe, expect, it } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { refusal } from '../support/answers.ts';
import { type HttpRequest, request } from '../support/http.ts';
import { call, protocolNamed, REST } from '../support/protocols.ts';
import { createTenant, PUBLIC_URL, startTestService, type Tenant } from '../support/service.ts';

const PUBLIC = ['https://app.test/callback', 'https://app.test/other?a=1&b=2', 'com.example.app:/callback'];
const LOOPBACK = ['http://127.0.0.1:5000/callback?a=1', 'http://[::1]/callback', 'http://localhost:3000/callback'];

/** Not registered, though a matcher that normalizes, decodes or compares prefixes takes them for `PUBLIC` ones. */
const SIMILAR_TO_PUBLIC = [
  ...['https://app.test/callbac', 'https://app.test/callbacks', 'https://app.test/callback/', '//app.test/callback'],
  ...['https://app.test//callback', 'https://app.test/./callback', 'https://app.test/x/%2e%2e/callback', '*'],
  ...['https:/app.test/callback', 'https://app.test/callback;a=1', 'https://app.test/%63allback', 'https://app.test/%'],
  ...[
    'HTTPS://app.test/callback',
    'https://APP.test/callback',
    'https://app.test/Callback',
    'http://app.test/callback',
  ],
  ...['https://app.test:443/callback', 'https://app.test./callback', 'https://app.test/callback?'],
  ...['https://app.test/callback#', 'https://app.test/callback?authToken=x', 'https://app.test/other'],
  ...['https://app.test/other?b=2&a=1', 'https://app.test.evil.test/callback', 'https://www.app.test/callback'],
  ...['https://user@app.test/callback', 'https://@app.test/callback', 'https://app.test@evil.test/callback'],
  ...['https://app.test\\@evil.test/callback', 'https://app.test%40evil.test/callback', 'xhttps://app.test/callback'],
  ...['https://evil.test/?next=https://app.test/callback', '["https://app.test/callback"]', 'java\tscript:alert(1)'],
  ...['https://app.test/callback,https://app.test/callback', 'https://аpp.test/callback', 'https://app。test/callback'],
  ...['https://app\u00ad.test/callback', 'https://app.test/callback\u0301', '\ufeffhttps://app.test/callback'],
  ...['https://app.test/callback%00', ' https://app.test/callback', 'https://app.test/callback\r\nSet-Cookie: a=b'],
  ...['https://app.test/call\tback', 'javascript://app.test/callback', 'data:text/html,https://app.test/callback'],
  ...['com.example.app2:/callback', 'com.example.app://callback', 'COM.EXAMPLE.APP:/callback'],
  // Registered by another application.
  ...['https://other.test/callback', 'https://app.test/other-callback'],
];

/** Not registered, though similar to `LOOPBACK` ones, which allow any port on an IP address. */
const SIMILAR_TO_LOOPBACK = [
  ...[':65536', ':', ':-1', ':80:80', ':８０'].map((port) => `http://127.0.0.1${port}/callback?a=1`),
  ...['http://127.0.0.1:5000@evil.test/callback?a=1', 'http://127.0.0.1:5000\\@evil.test/callback?a=1'],
  ...['http://user@127.0.0.1:5000/callback?a=1', 'http://[::1].evil.test/callback', 'http://127.0.0.2/callback?a=1'],
  ...['http://127.1/callback?a=1', 'http://[0:0:0:0:0:0:0:1]/callback', 'http://[::ffff:127.0.0.1]/callback?a=1'],
  ...['http://[::1]/callback?a=1', 'http://localhost:3001/callback', 'https://127.0.0.1:5000/callback?a=1'],
  ...['HTTP://127.0.0.1/callback?a=1', 'http://127.0.0.1:5000/callback', 'http://127.0.0.1/callback/?a=1'],
  ...['http://[::1]:5000/callback#part', 'http://127.0.0.1:5000\n/callback?a=1', 'http://127.0.0.1:5000/elsewhere'],
];

const service = await startTestService();
const web = await createTenant(service, { redirectUris: PUBLIC });
const native = await createTenant(service, { redirectUris: LOOPBACK });
await createTenant(service, {
  redirectUris: ['https://other.test/callback', 'https://app.test/other-callback', 'http://127.0.0.1/elsewhere'],
});

afterAll(() => service.close());

const { generateAuthUrl } = AuthService.method;

const generate = ({ clientId, apiKey }: Tenant, fields: JsonObject, protocol = REST) =>
  call(protocol, service.url, generateAuthUrl, { clientId, state: 'state', ...fields }, { 'x-api-key': apiKey });

// RFC 8252, section 7.3: any port.
const anyPort = [1, 65_535]
  .map((port) => `http://127.0.0.1:${port}/callback?a=1`)
  .concat('http://[::1]:49152/callback');

it('accepts registered URIs, and loopback addresses with any port', async () => {
  for (const redirectUri of PUBLIC) expect(await generate(web, { redirectUri })).toMatchObject({ code: 'ok' });
  for (const redirectUri of [...LOOPBACK, ...anyPort]) {
    expect(await generate(native, { redirectUri }), redirectUri).toMatchObject({ code: 'ok' });
  }
});

it.each([REST, protocolNamed('gRPC over HTTP/2')])('refuses similar URIs over $name', async (protocol) => {
  const refused = refusal('invalid_argument', 'Invalid redirect URI');
  for (const redirectUri of SIMILAR_TO_PUBLIC) {
    expect(await generate(web, { redirectUri }, protocol), redirectUri).toEqual(refused);
  }
  for (const redirectUri of SIMILAR_TO_LOOPBACK) {
    expect(await generate(native, { redirectUri }, protocol), redirectUri).toEqual(refused);
  }
});

describe('authUrl has one intent and nothing from', () => {
  it.each([
    '&intent=evil',
    '?intent=evil#intent=evil',
    '\r\nLocation: https://evil.test/?intent=evil',
    '#',
    '\u2028&intent=1',
  ])('the state %j', async (state) => {
    const { code, data } = await generate(web, { redirectUri: PUBLIC[0] ?? '', state });
    expect(code).toBe('ok');
    expectOwnUrl(data);
  });

  const hosts = ['evil.test', 'evil.test:443', '127.0.0.1', '[::1]:8080', 'usher.test'];
  const headers = [
    ...['server', 'proto', 'port', 'prefix', 'uri', 'for', 'host'].map((name) => `x-forwarded-${name}`),
    ...['x-original-url', 'x-original-host', 'x-rewrite-url', 'x-host', 'forwarded', 'origin', 'referer', 'via'],
  ];

  const call = async ({ headers, ...options }: Omit<HttpRequest, 'path'>, query = '') => {
    const { body } = await request(service.url, {
      method: 'POST',
      path: `/api/oauth/generate-auth-url?clientId=${web.clientId}${query}`,
      headers: { 'content-type': 'application/json', 'x-api-key': web.apiKey, ...headers },
      body: JSON.stringify({ redirectUri: PUBLIC[0], state: 'state', intent: 'evil', authUrl: 'https://evil.test' }),
      ...options,
    });
    expectOwnUrl(JSON.parse(body).data);
  };

  it.each(hosts)('the host %s', async (host) => {
    await call({ headers: { host } });
    await call({ httpVersion: '2', headers: { ':authority': host } });
  });

  it.each(headers)('the header %s', async (name) => {
    for (const value of [
      'evil.test:443',
      'for=evil.test;host=evil.test;proto=http',
      'https://evil.test/?intent=evil',
    ]) {
      await call({ headers: { [name]: value } });
    }
    await call({ httpVersion: '2', headers: { [name]: 'evil.test' } });
  });

  it.each(['&intent=evil&intent=evil2', '&redirectUri=https://evil.test', '&authUrl=x'])('the query %s', (query) =>
    call({}, query),
  );
});

function expectOwnUrl(data: unknown): void {
  expect(data).toMatchObject({ loginIntentId: expect.stringMatching(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/) });
  const { authUrl, loginIntentId } = Object(data);
  expect(authUrl).toBe(`${PUBLIC_URL}/login?intent=${loginIntentId}&client_id=${web.clientId}`);
}
