/** What strangers send to the endpoints of OpenID Connect: no 500, and no redirect to a foreign place. */
import { performance } from 'node:perf_hooks';
import { afterAll, expect, test } from 'vitest';
import { openHttpClient } from '../support/http.ts';
import { newAddress } from '../support/login-browser.ts';
import { authorizationOf, createRsaJwk } from '../support/oidc.ts';
import { basicOf, createVerifier, redeem, signInForCode } from '../support/oidc-client.ts';
import {
  createTenant,
  createTestUser,
  PUBLIC_URL,
  REDIRECT_URI,
  startTestService,
  type Tenant,
} from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const REQUESTS = quickOrLong(500, 200_000);
const PAGES = ['authorize', 'authorize', 'authorize', 'return', 'logout'];
const CLIENT_PATHS = ['token', 'token', 'userinfo', 'revoke', 'introspect', 'jwks'];
const NAMES = [
  ...['client_id', 'redirect_uri', 'response_type', 'response_mode', 'scope', 'state', 'nonce', 'code_challenge'],
  ...['code_challenge_method', 'prompt', 'max_age', 'login_hint', 'ui_locales', 'id_token_hint', 'request', 'lang'],
  ...['code', 'intent', 'error', 'post_logout_redirect_uri', 'done', '__proto__', 'constructor', '', 'a[b]'],
  ...['grant_type', 'code_verifier', 'refresh_token', 'token', 'token_type_hint', 'client_secret', 'access_token'],
];
const VALUES = [
  ...['', '\0', '%', '%zz', '\ud800', 'é'.repeat(5_000), 'x'.repeat(4_097), '\r\nset-cookie: a=b', '<script>', "';--"],
  ...['none', 'login', 'code', 'form_post', 'query', 'openid', '-1', '1e9', '99999999999999999999', 'null', '[]', '{}'],
  ...[
    'https://evil.test/',
    `${REDIRECT_URI}#`,
    `${REDIRECT_URI}@evil.test`,
    'javascript:alert(1)',
    '//evil.test',
    '..',
  ],
  ...[
    'authorization_code',
    'refresh_token',
    `uat_${'A'.repeat(110)}`,
    `urt_${'A'.repeat(150)}`,
    'usk_',
    'v'.repeat(43),
  ],
  ...['eyJhbGciOiJub25lIn0.e30.', 'a.b.c', `${'A'.repeat(64)}`, '00000000-0000-4000-8000-000000000000', '\u202e'],
];

const service = await startTestService({
  oidcSigningKeys: [createRsaJwk()],
  config: { trustedProxies: ['127.0.0.1'] },
});
afterAll(() => service.close());

/** The same numbers at each run. */
function createRandom(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test('random requests get a page, a redirect to the application or an error of the standard, and never a 500', async (context) => {
  const tenant = await createTenant(service, {
    openIdConnect: true,
    singleSignOn: true,
    postLogoutRedirectUris: [REDIRECT_URI],
  });
  const random = createRandom(7);
  const pick = <T>(from: readonly T[]): T => from[random(from.length)] as T;
  const verifier = createVerifier();
  const user = await createTestUser(service);
  const tokens = await redeem(service, tenant, await signInForCode(service, tenant, user, { verifier }), { verifier });
  const { access_token = '', refresh_token = '', id_token = '' } = tokens.body;
  // Those of a login, whole and damaged.
  const known = [access_token, refresh_token, id_token].flatMap((token) => [token, `${token.slice(0, -2)}AA`]);
  const values = [...VALUES, ...known];
  // A head of more than 16 KiB would end the connection.
  const short = values.map((value) => value.slice(0, 500));
  const authorizations = [
    basicOf(tenant).authorization ?? '',
    ...short.map((value) => `Basic ${Buffer.from(`${pick([tenant.clientId, value])}:${value}`).toString('base64')}`),
    ...short.map((value) => `Bearer ${value.replaceAll(/[^ -~]/g, '')}`),
  ];
  using client = openHttpClient(service.url, { httpVersion: '1.1' });
  const statuses = new Map<number, number>();
  for (let sent = 0; sent < REQUESTS; sent++) {
    const isOfClient = random(2) === 0;
    const usual = isOfClient ? tokenRequestOf(tenant, pick(known)) : authorizationOf(tenant);
    const parameters = random(3) === 0 ? new URLSearchParams() : usual;
    for (let change = random(4); change > 0; change--) {
      if (random(2) === 0) parameters.append(pick(NAMES), pick(values));
      else parameters.set(pick(NAMES), pick(values));
    }
    const text = random(8) === 0 ? `${parameters}&${pick(VALUES).replaceAll(/[^!-~]/g, '')}` : String(parameters);
    const isForm = text.length > 8_000 || (isOfClient ? random(5) > 0 : random(3) === 0);
    const cookie =
      random(2) === 0 ? `__Host-usher-sso=${'A'.repeat(43)}; __Host-usher=${pick(['x', 'B'.repeat(43)])}` : '';
    const headers = {
      'x-forwarded-for': newAddress(),
      ...(cookie && { cookie }),
      ...(isOfClient && random(2) === 0 && { authorization: pick(authorizations) }),
      ...(isForm && {
        'content-type': pick(['application/x-www-form-urlencoded', 'application/x-www-form-urlencoded', 'text/plain']),
      }),
    };
    const path = `/oidc/${pick(isOfClient ? CLIENT_PATHS : PAGES)}`;
    const reply = isForm
      ? await client.send({ path, headers, body: text })
      : await client.send({ path: `${path}?${text}`, headers });
    statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
    expect(reply.status, `${path} ${text}`).toBeLessThan(500);
    const { location } = reply.headers;
    const isHome =
      location === undefined ||
      [`${REDIRECT_URI}?`, `${PUBLIC_URL}/login?intent=`, '/oidc/logout?'].some((start) => location.startsWith(start));
    expect([location, isHome || location === REDIRECT_URI]).toEqual([location, true]);
    expect(reply.body).not.toContain('<script>"');
  }
  report(context, { tried: `${REQUESTS} requests`, figures: JSON.stringify(Object.fromEntries(statuses)) });
  // Each kind of answer came, so the requests were not all alike.
  for (const status of [200, 303, 400, 401, 404, 405, 413])
    expect([status, statuses.has(status)]).toEqual([status, true]);
}, 3_600_000);

/** What a client sends with any of its tokens. */
function tokenRequestOf({ clientId, apiKey }: Tenant, token: string): URLSearchParams {
  return new URLSearchParams({
    grant_type: token.startsWith('urt_') ? 'refresh_token' : 'authorization_code',
    code: token,
    refresh_token: token,
    token,
    redirect_uri: REDIRECT_URI,
    client_id: clientId,
    client_secret: apiKey,
  });
}

test('a byte of a form costs about the same, whatever is in it', async () => {
  const tenant = await createTenant(service, { openIdConnect: true });
  using client = openHttpClient(service.url, { httpVersion: '1.1' });
  const body = (filler: string) => `${authorizationOf(tenant, { prompt: 'none' })}&${filler}`.slice(0, 16_000);
  const cost = async (filler: string) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'x-forwarded-for': newAddress() };
    const before = process.cpuUsage();
    const startedAt = performance.now();
    for (let count = 0; count < 20; count++)
      await client.send({ path: '/oidc/authorize', headers, body: body(filler) });
    const { user, system } = process.cpuUsage(before);
    return Math.min((user + system) / 1_000, performance.now() - startedAt);
  };
  const plain = `a=${'x'.repeat(16_000)}`;
  await cost(plain);
  const usual = await cost(plain);
  // The cheapest of several tries: a pause of the process counts too.
  for (const filler of [
    'a&'.repeat(8_000),
    '&'.repeat(16_000),
    '%41'.repeat(5_000),
    '=&'.repeat(8_000),
    'scope= '.repeat(2_000),
  ])
    await expect.poll(() => cost(filler)).toBeLessThan(usual * 40);
});
