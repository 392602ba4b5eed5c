/** The authorization endpoint: what it refuses, in which order, and where it answers. */
import { afterAll, describe, expect, it, test } from 'vitest';
import { requestDeviceCode } from '../../../../support/device-client.ts';
import { formOf, LoginBrowser } from '../../../../support/login-browser.ts';
import { LoginFixture } from '../../../../support/login-fixture.ts';
import { authorizationOf, beginOidcLogin, createRsaJwk, parametersOf } from '../../../../support/oidc.ts';
import { adminClient, createTenant, PUBLIC_URL, REDIRECT_URI } from '../../../../support/service.ts';

type Changes = Readonly<Record<string, string | undefined>>;

const fixture = await LoginFixture.open({ oidcSigningKeys: [createRsaJwk()] });
const { service } = fixture;
afterAll(() => fixture.close());
const admin = adminClient(service);
const tenant = await createTenant(service, { openIdConnect: true });

const UNKNOWN = { status: 400, location: undefined, heading: 'This application cannot sign you in' };
const STATE = { state: 'a state & of the application', iss: PUBLIC_URL };

const ask = (changes: Changes = {}, more = '', of: { clientId: string } = tenant) =>
  new LoginBrowser(service).open(`/oidc/authorize?${authorizationOf(of, changes)}${more}`);

async function readIntent(id: string) {
  const [row] = await service.database.sql`select * from login_intents where id = ${id}`;
  return row;
}

async function countLogins(): Promise<number> {
  return (await service.database.sql`select from login_intents`).count;
}

describe('a request that names no place to answer', () => {
  test.each<[string, Changes, string]>([
    ['without a client ID', { client_id: undefined }, ''],
    ['with an unknown client ID', { client_id: 'client_unknown' }, ''],
    ['with NUL in the client ID', { client_id: '\0' }, ''],
    ['with two client IDs', {}, '&client_id=x'],
    ['without a redirect URI', { redirect_uri: undefined }, ''],
    ['with a redirect URI that is not registered', { redirect_uri: `${REDIRECT_URI}/` }, ''],
    ['with two redirect URIs', {}, `&redirect_uri=${encodeURIComponent(REDIRECT_URI)}`],
    ['with other faults beside', { redirect_uri: 'https://evil.test/', response_type: 'token', request: 'x' }, ''],
  ])('%s shows a page', async (_, changes, more) => {
    expect(await ask(changes, more)).toMatchObject(UNKNOWN);
  });

  it('is one of an application without OpenID Connect, or of a deleted one', async () => {
    expect(await ask({}, '', fixture.tenant)).toMatchObject(UNKNOWN);
    const deleted = await createTenant(service, { openIdConnect: true });
    await admin.deleteApplication({ applicationId: deleted.id });
    expect(await ask({}, '', deleted)).toMatchObject(UNKNOWN);
  });
});

/** In the order of the checks: each has all the faults of those after it. */
const FAULTS: readonly [string, Changes, string][] = [
  ['response_type', { response_type: undefined }, 'invalid_request'],
  ['response_type', { response_type: 'id_token' }, 'unsupported_response_type'],
  ['response_mode', { response_mode: 'fragment' }, 'invalid_request'],
  ['request', { request: 'x' }, 'request_not_supported'],
  ['request_uri', { request_uri: 'https://app.test/r' }, 'request_uri_not_supported'],
  ['registration', { registration: '{}' }, 'registration_not_supported'],
  ['code_challenge', { code_challenge: 'short' }, 'invalid_request'],
  ['prompt', { prompt: 'none login' }, 'invalid_request'],
  ['scope', { scope: 'mcp:tools' }, 'invalid_scope'],
  ['prompt', { prompt: 'none' }, 'login_required'],
];

describe('a fault that the application is told', () => {
  test.each<[string, Changes, string]>([
    ...FAULTS.map(([name, changes, error]): [string, Changes, string] => [
      `${name} ${Object.values(changes)}`,
      changes,
      error,
    ]),
    ['a scope that is too long', { scope: `openid ${'x'.repeat(1_000)}` }, 'invalid_request'],
    ['a scope in another case', { scope: 'OpenID Email' }, 'invalid_scope'],
    ['scopes between commas', { scope: 'openid,email' }, 'invalid_scope'],
    ['an unknown scope beside offline_access', { scope: 'mcp:tools offline_access' }, 'invalid_scope'],
    ['a nonce that is too long', { nonce: 'é'.repeat(513) }, 'invalid_request'],
    ['a nonce with NUL', { nonce: 'a\0' }, 'invalid_request'],
    ['several response types', { response_type: 'code id_token' }, 'unsupported_response_type'],
    ['the plain method', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['no method, which is plain', { code_challenge_method: undefined }, 'invalid_request'],
    ['no challenge', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['a max_age that is no number', { max_age: '-1' }, 'invalid_request'],
    ['a max_age with a fraction', { max_age: '1.5' }, 'invalid_request'],
  ])('is %s', async (_, changes, error) => {
    const { status, location } = await ask(changes);
    expect(status).toBe(303);
    expect(location?.startsWith(`${REDIRECT_URI}?`)).toBe(true);
    expect(parametersOf(location)).toEqual({ error, error_description: expect.any(String), ...STATE });
  });

  it('is the first of several', async () => {
    for (const [index, [, , error]] of FAULTS.entries()) {
      const later = FAULTS.slice(index).reduceRight((all, [, changes]) => ({ ...all, ...changes }), {});
      const { location } = await ask(later);
      expect([index, parametersOf(location).error]).toEqual([index, error]);
    }
  });

  test.each(['response_type', 'scope', 'nonce', 'prompt', 'request', 'code_challenge', 'display'])(
    'is %s twice',
    async (name) => {
      const { location } = await ask({}, `&${name}=&${name}=code`);
      expect(parametersOf(location)).toMatchObject({ error: 'invalid_request', ...STATE });
    },
  );

  test.each<[string, Changes, string]>([
    ['twice', {}, '&state=x'],
    ['too long', { state: 'x'.repeat(4_097) }, ''],
    ['with NUL', { state: 'a\0b' }, ''],
  ])('is a state %s, which is not sent back', async (_, changes, more) => {
    const { location } = await ask(changes, more);
    expect(parametersOf(location)).toEqual({
      error: 'invalid_request',
      error_description: expect.any(String),
      iss: PUBLIC_URL,
    });
  });

  it('is told in a form if the application wants that', async () => {
    const page = await ask({ response_mode: 'form_post', max_age: 'x' });
    expect(page).toMatchObject({ status: 200, heading: 'You are being sent back', location: undefined });
    const { method, fields } = formOf(page, REDIRECT_URI);
    expect(method).toBe('post');
    expect(fields).toMatchObject({ error: 'invalid_request', ...STATE });
  });

  it('keeps the query of the redirect URI', async () => {
    const redirectUri = 'https://app.test/callback?tenant=a%20b';
    const other = await createTenant(service, { openIdConnect: true, redirectUris: [redirectUri] });
    const { location } = await ask({ redirect_uri: redirectUri, max_age: 'x', state: undefined }, '', other);
    expect(location?.startsWith(`${redirectUri}&error=invalid_request&`)).toBe(true);
    expect(parametersOf(location)).not.toHaveProperty('state');
  });
});

test.each([
  [true, 'http://localhost:49152/callback', 303],
  [true, 'http://localhost/callback', 303],
  [true, 'http://localhost:49152/callback/', 400],
  [true, 'http://localhost:65536/callback', 400],
  [true, 'http://localhost.evil.test:49152/callback', 400],
  [false, 'http://localhost:49152/callback', 400],
])('the port of localhost is free for a public client: %s, %s', async (publicClient, redirect_uri, status) => {
  const redirectUris = ['http://localhost:3000/callback'];
  const client = await createTenant(service, { openIdConnect: true, publicClient, redirectUris });
  expect(await ask({ redirect_uri }, '', client)).toMatchObject({ status });
});

describe('a request that is right', () => {
  it('leads to the login page of an intent that has what was asked for', async () => {
    const { location, headers } = await ask({ max_age: '60', ui_locales: 'fr de', scope: 'x openid offline_access' });
    expect(headers['strict-transport-security']).toMatch(/^max-age=/);
    const url = new URL(location ?? '');
    expect(url.origin + url.pathname).toBe(`${PUBLIC_URL}/login`);
    expect(url.searchParams.get('client_id')).toBe(tenant.clientId);
    expect(await readIntent(url.searchParams.get('intent') ?? '')).toMatchObject({
      application_id: tenant.id,
      redirect_uri: REDIRECT_URI,
      state: STATE.state,
      response_mode: 'query',
      scope: 9,
      nonce: 'a nonce',
      prompt: '',
      max_age_seconds: 60,
      locale: 'fr de',
      completed_at: null,
      redeemed_at: null,
    });
  });

  test.each<[string, Changes, object]>([
    ['a state of 4,096 bytes', { state: 'é'.repeat(2_048) }, { state: 'é'.repeat(2_048) }],
    ['no scope, which means openid', { scope: undefined }, { scope: 1 }],
    ['a scope of spaces', { scope: '  ' }, { scope: 1 }],
    ['offline_access alone', { scope: 'offline_access' }, { scope: 9 }],
    ['scopes of OAuth alone', { scope: 'email OpenID' }, { scope: 4 }],
    ['no state and no nonce', { state: undefined, nonce: '' }, { state: '', nonce: null }],
    ['prompt=login', { prompt: 'login consent' }, { prompt: 'LOGIN' }],
    ['an unknown prompt', { prompt: 'create' }, { prompt: '' }],
    ['a long max_age', { max_age: '9'.repeat(400) }, { max_age_seconds: 31_536_000 }],
    [
      'a long list of languages',
      { ui_locales: `${'de '.repeat(66)}${'x'.repeat(50)}` },
      { locale: 'de '.repeat(66).trim() },
    ],
    ['parameters that are ignored', { acr_values: '1', display: 'touch', claims: '{' }, {}],
  ])('may have %s', async (_, changes, row) => {
    const login = await beginOidcLogin(new LoginBrowser(service), tenant, changes);
    expect(await readIntent(login.loginIntentId)).toMatchObject(row);
  });

  it('needs no code challenge where the application does not require one', async () => {
    const other = await createTenant(service, { openIdConnect: true, requirePkce: false });
    const without = { code_challenge: undefined, code_challenge_method: undefined };
    const login = await beginOidcLogin(new LoginBrowser(service), other, without);
    expect(await readIntent(login.loginIntentId)).toMatchObject({ code_challenge: null });
    const { location } = await ask({ code_challenge: undefined }, '', other);
    expect(parametersOf(location).error).toBe('invalid_request');
  });

  it('may come in a form, of 16 KiB at most', async () => {
    const browser = new LoginBrowser(service);
    const { location } = await browser.post('/oidc/authorize', Object.fromEntries(authorizationOf(tenant)));
    expect(location).toMatch(/\/login\?intent=/);
    const form = Object.fromEntries(authorizationOf(tenant, { extra: '' }));
    const left = 16_384 - new URLSearchParams(form).toString().length;
    for (const [length, status] of [
      [left, 303],
      [left + 1, 413],
    ] as const)
      expect((await browser.post('/oidc/authorize', { ...form, extra: 'x'.repeat(length) })).status).toBe(status);
  });

  it('fills in the e-mail address of a login_hint', async () => {
    const browser = new LoginBrowser(service);
    const login = await beginOidcLogin(browser, tenant, { login_hint: 'ada@example.com' });
    expect((await browser.open(login.path)).body).toContain('value="ada@example.com"');
    const other = new LoginBrowser(service);
    const ignored = await beginOidcLogin(other, tenant, { login_hint: '<script>' });
    expect((await other.open(ignored.path)).body).not.toContain('<script>"');
  });

  it('speaks the language of ui_locales', async () => {
    const browser = new LoginBrowser(service, { languages: 'es' });
    const login = await beginOidcLogin(browser, tenant, { ui_locales: 'fr-CA de' });
    expect((await browser.open(login.path)).headers['content-language']).toBe('fr');
  });
});

it('refuses other methods', async () => {
  const { status, headers } = await new LoginBrowser(service).open('/oidc/authorize', 'PUT');
  expect([status, headers.allow]).toEqual([405, 'GET, POST, HEAD']);
});

it('allows a network 600 logins a minute, and others go on', async () => {
  const browser = new LoginBrowser(service, { address: '2001:db8::1' });
  const path = `/oidc/authorize?${authorizationOf(tenant)}`;
  for (let count = 0; count < 600; count++) expect((await browser.open(path)).status).toBe(303);
  const neighbor = new LoginBrowser(service, { address: '2001:db8::2:3' });
  const page = await neighbor.open(path);
  expect(page).toMatchObject({ status: 429, heading: 'Too many sign-ins at once', location: undefined });
  expect(page.headers['retry-after']).toBe('60');
  // As a device of a public client anybody can call, and with a secret only its application.
  const client = await createTenant(service, { openIdConnect: true, deviceLogin: true, publicClient: true });
  for (const [isPublic, status] of [
    [true, 429],
    [false, 200],
  ] as const) {
    const reply = await requestDeviceCode(service, client, { isPublic, address: '2001:db8::3' });
    expect([reply.status, reply.headers['retry-after']]).toEqual([status, isPublic ? '60' : undefined]);
  }
  const stranger = new LoginBrowser(service, { address: '2001:db8:0:1::1' });
  expect((await stranger.open(path)).status).toBe(303);
  expect((await stranger.open(path.replace('openid', 'x'))).status).toBe(303);
});

it('allows a site fewer logins the more each stores, and others go on', async () => {
  const path = `/oidc/authorize?${authorizationOf(tenant, { state: 's'.repeat(4_096), nonce: 'n'.repeat(1_000) })}`;
  const before = await countLogins();
  const answers: number[] = [];
  for (let turn = 0; turn < 300; turn++) {
    const browser = new LoginBrowser(service, { address: `2001:db8:1:${(turn % 100).toString(16)}::1` });
    answers.push((await browser.open(path)).status);
  }
  expect(answers).toEqual([...Array(240).fill(303), ...Array(60).fill(429)]);
  expect((await countLogins()) - before).toBe(240);
  expect((await new LoginBrowser(service, { address: '2001:db8:2::1' }).open(path)).status).toBe(303);
});
