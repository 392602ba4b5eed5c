/** Redirect URIs that nearly are a registered one, and what else may be tried with authUrl, end to end. */
import type { JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { refusal } from '../support/answers.ts';
import { CALLERS } from '../support/callers.ts';
import { type HttpRequest, request } from '../support/http.ts';
import { LOOPBACK, LOOPBACK_NEAR_MISSES, NEAR_MISSES, PUBLIC } from '../support/redirect-uris.ts';
import { createTenant, PUBLIC_URL, startTestService, type Tenant, type TestService } from '../support/service.ts';

let service: TestService;
/** Has registered the public ones. */
let application: Tenant;
/** Has registered the loopback ones. */
let native: Tenant;

beforeAll(async () => {
  service = await startTestService();
  application = await createTenant(service, { redirectUris: PUBLIC });
  native = await createTenant(service, { redirectUris: LOOPBACK });
  await createTenant(service, {
    redirectUris: ['https://other.test/callback', 'https://app.test/other-callback', 'http://127.0.0.1/elsewhere'],
  });
});

afterAll(() => service.close());

const ALLOWED: readonly (readonly [uri: string, tenantOf: () => Tenant])[] = [
  ...PUBLIC.map((uri) => [uri, () => application] as const),
  ...[
    ...LOOPBACK,
    // RFC 8252, section 7.3: any port.
    'http://127.0.0.1:1/callback?a=1',
    'http://127.0.0.1:65535/callback?a=1',
    'http://127.0.0.1/callback?a=1',
    'http://[::1]:49152/callback',
  ].map((uri) => [uri, () => native] as const),
];

const channels = CALLERS.filter(({ name }) => ['REST over HTTP/1.1', 'gRPC over HTTP/2'].includes(name));

describe.each(channels)('over $name', (caller) => {
  const callWith = ({ clientId, apiKey }: Tenant, fields: JsonObject) =>
    caller.call(
      service.url,
      AuthService.method.generateAuthUrl,
      { clientId, state: 'state', ...fields },
      { 'x-api-key': apiKey },
    );

  it.each(ALLOWED)('%s passes', async (redirectUri, tenantOf) => {
    expect(await callWith(tenantOf(), { redirectUri })).toMatchObject({ code: 'ok' });
  });

  it.each(NEAR_MISSES)('%s does not', async (_, redirectUri) => {
    expect(await callWith(application, { redirectUri })).toEqual(refusal('invalid_argument', 'Invalid redirect URI'));
  });

  it.each(LOOPBACK_NEAR_MISSES)('%s does not, on a loopback address', async (_, redirectUri) => {
    expect(await callWith(native, { redirectUri })).toEqual(refusal('invalid_argument', 'Invalid redirect URI'));
  });

  it.each([
    '&intent=evil',
    '?intent=evil#intent=evil',
    'a&intent=00000000-0000-4000-8000-000000000000',
    '%26intent%3Devil',
    '\r\nLocation: https://evil.test/?intent=evil',
    '"><script>intent=1</script>',
    '{{intent}}',
    'intent',
    '#',
    '\u2028&intent=1',
    '; intent=1',
  ])('authUrl has one intent with the state %j', async (state) => {
    const { code, data } = await callWith(application, { redirectUri: PUBLIC[0] ?? '', state });
    expect(code).toBe('ok');
    expectOwnUrl(data);
  });
});

describe('authUrl has one intent and nothing of the request, whatever', () => {
  const evil = ['evil.test', 'evil.test:443', 'evil.test?intent=evil', '127.0.0.1', '[::1]:8080', 'usher.test'];
  const forged = [
    'x-forwarded-host',
    'x-forwarded-server',
    'x-forwarded-proto',
    'x-forwarded-port',
    'x-forwarded-prefix',
    'x-forwarded-uri',
    'x-forwarded-for',
    'x-original-url',
    'x-original-host',
    'x-rewrite-url',
    'x-host',
    'x-http-host-override',
    'forwarded',
    'origin',
    'referer',
    'via',
  ];

  const call = ({ headers, ...options }: Omit<HttpRequest, 'path'>, query = '') =>
    request(service.url, {
      method: 'POST',
      path: `/api/oauth/generate-auth-url?clientId=${application.clientId}${query}`,
      headers: { 'content-type': 'application/json', 'x-api-key': application.apiKey, ...headers },
      body: JSON.stringify({ redirectUri: PUBLIC[0], state: 'state', intent: 'evil', authUrl: 'https://evil.test' }),
      ...options,
    });

  it.each(evil.filter((host) => !host.includes('?')))('the Host %s is', async (host) => {
    expectOwnUrl(JSON.parse((await call({ headers: { host } })).body).data);
  });

  it.each(evil.filter((host) => !host.includes('?')))('the :authority %s is', async (authority) => {
    const reply = await call({ httpVersion: '2', headers: { ':authority': authority } });
    expectOwnUrl(JSON.parse(reply.body).data);
  });

  it.each((['1.1', '2'] as const).flatMap((httpVersion) => forged.map((name) => [name, httpVersion] as const)))(
    'the header %s says over HTTP/%s',
    async (name, httpVersion) => {
      for (const value of [...evil, 'for=evil.test;host=evil.test;proto=http', 'https://evil.test/?intent=evil']) {
        const reply = await call({ httpVersion, headers: { [name]: value } });
        expectOwnUrl(JSON.parse(reply.body).data);
      }
    },
  );

  it.each(['&intent=evil', '&intent=evil&intent=evil2', '&redirectUri=https://evil.test', '&authUrl=x'])(
    'the query says: %s',
    async (query) => {
      expectOwnUrl(JSON.parse((await call({}, query)).body).data);
    },
  );
});

function expectOwnUrl(data: unknown): void {
  const { authUrl, loginIntentId } = data as { authUrl: string; loginIntentId: string };
  expect(authUrl).toBe(`${PUBLIC_URL}/login?intent=${loginIntentId}`);
  expect(new URL(authUrl).searchParams.getAll('intent')).toEqual([loginIntentId]);
  expect(loginIntentId).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
}
