/** The modules of the plan "Basic OP" of the OpenID Foundation's conformance suite, each under its name there. */
import { expect } from 'vitest';
import { Browser } from './browser.ts';
import {
  askForTokens,
  createPkce,
  createRequest,
  readClaims,
  readUserinfo,
  redeem,
  type SignedIn,
  signIn,
  verifyIdToken,
} from './flow.ts';
import { authorize, CALLBACK, type OpenIdProvider, PERSON, readMetadata } from './provider.ts';

export type Module = (provider: OpenIdProvider) => Promise<void>;

const SECOND = 1_000;

export const BASIC_MODULES: Readonly<Record<string, Module>> = {
  async 'oidcc-server'(provider) {
    const { claims, answer } = await signIn(provider);
    expect(claims.sub).toMatch(/^[\x20-\x7e]{1,255}$/);
    // At least 128 bits, as RFC 6749, 10.10, asks for.
    expect(answer.params.code?.length).toBeGreaterThanOrEqual(22);
    expect(answer.signIns).toBe(1);
  },
  async 'oidcc-response-type-missing'(provider) {
    const answer = await authorize(provider, createRequest(provider.client, { response_type: undefined }));
    expect(answer.place === 'page' ? answer.status : answer.params.error).toBeOneOf([
      400,
      'invalid_request',
      'unsupported_response_type',
    ]);
    expect(answer.params.code).toBeUndefined();
  },
  async 'oidcc-idtoken-signature'(provider) {
    const { header } = await signIn(provider);
    expect(header).toMatchObject({ alg: 'RS256', kid: expect.stringMatching(/./) });
  },
  async 'oidcc-idtoken-unsigned'(provider) {
    // The module is skipped where `none` is not supported.
    const { id_token_signing_alg_values_supported: algorithms } = await readMetadata(provider);
    expect(algorithms).not.toContain('none');
  },
  async 'oidcc-userinfo-get'(provider) {
    const { tokens, claims } = await signIn(provider);
    expect(await readClaims(provider, tokens)).toMatchObject({ sub: claims.sub });
  },
  async 'oidcc-userinfo-post-header'(provider) {
    const { tokens, claims } = await signIn(provider);
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    const reply = await readUserinfo(provider, { method: 'POST', headers });
    expect({ status: reply.status, ...JSON.parse(reply.body) }).toMatchObject({ status: 200, sub: claims.sub });
  },
  async 'oidcc-userinfo-post-body'(provider) {
    const { tokens, claims } = await signIn(provider);
    const reply = await readUserinfo(provider, { form: { access_token: tokens.access_token } });
    expect({ status: reply.status, ...JSON.parse(reply.body) }).toMatchObject({ status: 200, sub: claims.sub });
  },
  async 'oidcc-ensure-request-without-nonce-succeeds-for-code-flow'(provider) {
    const { claims } = await signIn(provider, { params: { nonce: undefined } });
    expect(claims).not.toHaveProperty('nonce');
  },
  async 'oidcc-scope-profile'(provider) {
    const { tokens } = await signIn(provider, { params: { scope: 'openid profile' } });
    const claims = await readClaims(provider, tokens);
    expect(claims).toMatchObject({ name: PERSON.name });
    expect(claims).not.toHaveProperty('email');
  },
  async 'oidcc-scope-email'(provider) {
    const { tokens } = await signIn(provider, { params: { scope: 'openid email' } });
    const claims = await readClaims(provider, tokens);
    expect(claims).toMatchObject({ email: PERSON.email, email_verified: true });
    expect(claims).not.toHaveProperty('name');
  },
  'oidcc-scope-address': (provider) => ignoreScope(provider, 'address'),
  'oidcc-scope-phone': (provider) => ignoreScope(provider, 'phone'),
  'oidcc-scope-all': (provider) => ignoreScope(provider, 'profile email address phone', PERSON),
  async 'oidcc-alternate-happy-flow'(provider) {
    const { scope = '', ...request } = createRequest(provider.client, { scope: 'email openid' });
    const answer = await authorize(provider, { scope, ...Object.fromEntries(Object.entries(request).reverse()) });
    const reply = await redeem(provider, provider.client, { code: answer.params.code ?? '' });
    expect(await readClaims(provider, JSON.parse(reply.body))).toMatchObject({ email: PERSON.email });
  },
  'oidcc-display-page': accept({ display: 'page' }),
  'oidcc-display-popup': accept({ display: 'popup' }),
  async 'oidcc-prompt-login'(provider) {
    const { first, second } = await signInTwice(provider, { prompt: 'login' });
    expect(second.answer.signIns).toBe(1);
    expectLater(second, first);
  },
  async 'oidcc-prompt-none-not-logged-in'(provider) {
    const answer = await authorize(provider, createRequest(provider.client, { prompt: 'none', state: 'kept' }));
    expect(answer).toMatchObject({
      place: 'redirect',
      params: { state: 'kept', iss: provider.route.issuer },
      signIns: 0,
    });
    expect(answer.params.error).toBe('login_required');
  },
  async 'oidcc-prompt-none-logged-in'(provider) {
    const { first, second } = await signInTwice(provider, { prompt: 'none' });
    expectSame(second, first);
  },
  async 'oidcc-max-age-1'(provider) {
    const { first, second } = await signInTwice(provider, { max_age: '1' });
    expect(second.answer.signIns).toBe(1);
    expectLater(second, first);
    expect(provider.now().getTime() / SECOND - Number(second.claims.auth_time)).toBeLessThan(300);
  },
  async 'oidcc-max-age-10000'(provider) {
    const { first, second } = await signInTwice(provider, { max_age: '10000' }, { max_age: '15000' });
    expectSame(second, first);
  },
  'oidcc-ensure-request-with-unknown-parameter-succeeds': accept({ extra: 'foobar' }),
  async 'oidcc-id-token-hint'(provider) {
    const browser = new Browser(provider.route);
    const first = await signIn(provider, { browser });
    const params = { prompt: 'none', id_token_hint: first.tokens.id_token };
    expectSame(await signIn(provider, { browser, params }), first);
  },
  'oidcc-login-hint': accept({ login_hint: 'buffy@client.test' }),
  'oidcc-ui-locales': accept({ ui_locales: 'se' }),
  'oidcc-claims-locales': accept({ claims_locales: 'se' }),
  // The person signs in by code. Usher demands what the strongest value says: test/integration/login-page/assurance.test.ts.
  'oidcc-ensure-request-with-acr-values-succeeds': accept({ acr_values: '1 unknown' }),
  async 'oidcc-codereuse'(provider) {
    await reuseCode(provider);
  },
  async 'oidcc-codereuse-30seconds'(provider) {
    await reuseCode(provider, 30 * SECOND);
  },
  async 'oidcc-ensure-registered-redirect-uri'(provider) {
    const request = createRequest(provider.client, { redirect_uri: `${CALLBACK}/callback/other` });
    expect(await authorize(provider, request)).toMatchObject({ place: 'page', status: 400 });
  },
  async 'oidcc-ensure-post-request-succeeds'(provider) {
    await signIn(provider, { method: 'POST' });
  },
  async 'oidcc-server-client-secret-post'(provider) {
    await signIn(provider, { auth: 'post' });
  },
  async 'oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported'(provider) {
    await expectUnsupported(provider, { request_uri: 'https://client.test/request' }, 'request_uri_not_supported');
  },
  async 'oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported'(provider) {
    await expectUnsupported(provider, { request: unsigned({ state: 'of the object' }) }, 'request_not_supported');
  },
  async 'oidcc-claims-essential'(provider) {
    const claims = JSON.stringify({ userinfo: { name: { essential: true } } });
    const { tokens } = await signIn(provider, { params: { claims, scope: 'openid profile' } });
    expect(await readClaims(provider, tokens)).toMatchObject({ name: PERSON.name });
  },
  async 'oidcc-ensure-request-object-with-redirect-uri'(provider) {
    const request = unsigned({ redirect_uri: 'https://client.test/of-the-object' });
    await expectUnsupported(provider, { request }, 'request_not_supported');
  },
  async 'oidcc-refresh-token'(provider) {
    const { client, otherClient } = provider;
    const { tokens, claims } = await signIn(provider);
    await provider.wait(SECOND);
    const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
    const reply = await askForTokens(provider, client, form);
    expect(reply.status, reply.body).toBe(200);
    const refreshed = JSON.parse(reply.body);
    const { claims: later } = await verifyIdToken(provider, client, refreshed.id_token);
    expect(later).toMatchObject({ iss: claims.iss, sub: claims.sub, aud: claims.aud, auth_time: claims.auth_time });
    expect(later.iat).toBeGreaterThan(claims.iat ?? Number.POSITIVE_INFINITY);
    await expectRefused(await askForTokens(provider, otherClient, form));
  },
  async 'oidcc-ensure-request-with-valid-pkce-succeeds'(provider) {
    const { verifier, params } = createPkce();
    await signIn(provider, { verifier, params });
  },
};

/** A parameter that may change nothing. */
function accept(params: Readonly<Record<string, string>>): Module {
  return async (provider) => {
    await signIn(provider, { params });
  };
}

/** The suite skips a module whose scope is not supported. An unknown scope must not be refused (Core, 3.1.2.1). */
async function ignoreScope(provider: OpenIdProvider, scope: string, shown: Partial<typeof PERSON> = {}): Promise<void> {
  expect((await readMetadata(provider)).scopes_supported).not.toEqual(expect.arrayContaining(['address', 'phone']));
  const { tokens } = await signIn(provider, { params: { scope: `openid ${scope}` } });
  expect(await readClaims(provider, tokens)).toMatchObject(shown);
}

/** Signs in again two seconds later, in the same browser. */
async function signInTwice(
  provider: OpenIdProvider,
  params: Readonly<Record<string, string>>,
  before: Readonly<Record<string, string>> = {},
) {
  const browser = new Browser(provider.route);
  const first = await signIn(provider, { browser, params: before });
  await provider.wait(2 * SECOND);
  return { first, second: await signIn(provider, { browser, params }) };
}

function expectLater(second: SignedIn, first: SignedIn): void {
  expect(second.claims.sub).toBe(first.claims.sub);
  expect(Number(second.claims.auth_time)).toBeGreaterThan(Number(first.claims.auth_time ?? 0));
}

function expectSame(second: SignedIn, first: SignedIn): void {
  expect(second.claims).toMatchObject({ sub: first.claims.sub, auth_time: first.claims.auth_time });
  expect(second.claims.auth_time).toEqual(expect.any(Number));
  expect(second.answer.signIns).toBe(0);
}

async function reuseCode(provider: OpenIdProvider, after = 0): Promise<void> {
  const { code = '' } = (await authorize(provider, createRequest(provider.client))).params;
  expect((await redeem(provider, provider.client, { code })).status).toBe(200);
  if (after > 0) await provider.wait(after);
  await expectRefused(await redeem(provider, provider.client, { code }));
}

async function expectRefused({ status, body }: { status: number; body: string }): Promise<void> {
  expect({ status, error: JSON.parse(body).error }).toEqual({ status: 400, error: 'invalid_grant' });
}

async function expectUnsupported(
  provider: OpenIdProvider,
  params: Record<string, string>,
  error: string,
): Promise<void> {
  const answer = await authorize(provider, createRequest(provider.client, params));
  expect(answer).toMatchObject({ place: 'redirect', redirectUri: CALLBACK, params: { error } });
}

function unsigned(claims: object): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  return `${encode({ alg: 'none' })}.${encode(claims)}.`;
}
