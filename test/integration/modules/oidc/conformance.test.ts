/**
 * The plans of the OpenID Foundation's conformance suite for what Usher offers. A certified provider passes them, too,
 * which shows that the tests are right.
 */

import { createHmac } from 'node:crypto';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { afterAll, describe, expect, test } from 'vitest';
import { BASIC_MODULES, type Module } from '../../../support/openid/basic-modules.ts';
import { Browser } from '../../../support/openid/browser.ts';
import { createRequest, type SignedIn, signIn } from '../../../support/openid/flow.ts';
import {
  type Answer,
  authorize,
  endSession,
  LOGGED_OUT,
  type OpenIdProvider,
  readMetadata,
  send,
} from '../../../support/openid/provider.ts';
import { startReferenceProvider } from '../../../support/openid/reference-provider.ts';
import { startUsherProvider } from '../../../support/openid/usher-provider.ts';

/** The modules of the suite's plans "RP-Initiated Logout OP" and "Back-Channel Logout OP", each under its name there. */
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';

type LogoutRequest = Readonly<Record<'id_token_hint' | 'post_logout_redirect_uri' | 'state', string>>;

const RP_LOGOUT_MODULES: Readonly<Record<string, Module>> = {
  async 'oidcc-rp-initiated-logout-discovery-endpoint-verification'(provider) {
    expect((await readMetadata(provider)).end_session_endpoint).toMatch(/^https:/);
  },
  'oidcc-rp-initiated-logout': async (provider) => {
    await expectRedirected(provider, (request) => request, { state: 'a state' });
  },
  'oidcc-rp-initiated-logout-bad-post-logout-redirect-uri': expectPage((request) => ({
    ...request,
    post_logout_redirect_uri: `${LOGGED_OUT}/other`,
  })),
  'oidcc-rp-initiated-logout-modified-id-token-hint': expectPage((request) => ({
    ...request,
    id_token_hint: unsign(request.id_token_hint),
  })),
  'oidcc-rp-initiated-logout-no-id-token-hint': expectPage(({ id_token_hint: _, ...request }) => request),
  'oidcc-rp-initiated-logout-no-params': expectPage(() => ({})),
  'oidcc-rp-initiated-logout-no-post-logout-redirect-uri': expectPage(
    ({ post_logout_redirect_uri: _, ...request }) => request,
    { isEnded: true },
  ),
  'oidcc-rp-initiated-logout-no-state': async (provider) => {
    await expectRedirected(provider, ({ state: _, ...request }) => request, {});
  },
  'oidcc-rp-initiated-logout-only-state': expectPage(({ state }) => ({ state })),
  'oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri': expectPage((request) => ({
    ...request,
    post_logout_redirect_uri: `${LOGGED_OUT}?extra=foobar`,
  })),
  'oidcc-rp-initiated-logout-bad-id-token-hint': expectPage((request, { client }) => ({
    ...request,
    id_token_hint: signByClient(request.id_token_hint, client.clientSecret),
  })),
};

const BACK_CHANNEL_MODULES: Readonly<Record<string, Module>> = {
  async 'oidcc-backchannel-logout-discovery-endpoint-verification'(provider) {
    expect(await readMetadata(provider)).toMatchObject({
      end_session_endpoint: expect.stringMatching(/^https:/),
      backchannel_logout_supported: true,
    });
  },
  async 'oidcc-backchannel-rp-initiated-logout'(provider) {
    const { logouts, client, route } = provider;
    logouts.requests.length = 0;
    const { claims } = await expectRedirected(provider, (request) => request, { state: 'a state' });
    const { method, headers, form } = await logouts.find({ sub: claims.sub, sid: claims.sid });
    expect({ method, type: headers['content-type'], fields: [...form.keys()] }).toEqual({
      method: 'POST',
      type: expect.stringMatching(/^application\/x-www-form-urlencoded/),
      fields: ['logout_token'],
    });
    const { jwks_uri: url } = await readMetadata(provider);
    const keys = createLocalJWKSet(JSON.parse((await send(provider, url)).body));
    const { payload } = await jwtVerify(form.get('logout_token') ?? '', keys, {
      algorithms: ['RS256'],
      typ: 'logout+jwt',
      issuer: route.issuer,
      audience: client.clientId,
      currentDate: provider.now(),
      clockTolerance: 1,
      requiredClaims: ['iat', 'exp', 'jti', 'events'],
    });
    expect(payload).toMatchObject({ sub: claims.sub, events: { [LOGOUT_EVENT]: {} } });
    expect(payload.sid).toBe(claims.sid);
    expect(payload).not.toHaveProperty('nonce');
    // The specification recommends two minutes at most.
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBeLessThanOrEqual(120);
  },
};

/** Signs in, asks for a logout, and expects that the browser ends at the client, and that the login has ended. */
async function expectRedirected(
  provider: OpenIdProvider,
  change: (request: LogoutRequest) => Readonly<Record<string, string>>,
  params: Readonly<Record<string, string>>,
): Promise<SignedIn> {
  const { answer, signedIn, browser } = await logOut(provider, change);
  expect(answer).toMatchObject({ place: 'redirect', redirectUri: LOGGED_OUT });
  expect(answer.params).toEqual(params);
  await expectLoggedOut(provider, browser);
  return signedIn;
}

/** Returns a module that expects no redirect. */
function expectPage(
  change: (request: LogoutRequest, provider: OpenIdProvider) => Readonly<Record<string, string>>,
  { isEnded = false } = {},
): Module {
  return async (provider) => {
    const { answer, browser } = await logOut(provider, (request) => change(request, provider));
    expect(answer).toMatchObject({ place: 'page', params: {} });
    expect(answer.status).toBeOneOf([200, 400]);
    if (isEnded) await expectLoggedOut(provider, browser);
  };
}

async function logOut(provider: OpenIdProvider, change: (request: LogoutRequest) => Readonly<Record<string, string>>) {
  const browser = new Browser(provider.route);
  const signedIn = await signIn(provider, { browser });
  const request = { id_token_hint: signedIn.tokens.id_token, post_logout_redirect_uri: LOGGED_OUT, state: 'a state' };
  const answer: Answer = await endSession(provider, change(request), { browser });
  return { answer, browser, signedIn };
}

async function expectLoggedOut(provider: OpenIdProvider, browser: Browser): Promise<void> {
  const answer = await authorize(provider, createRequest(provider.client, { prompt: 'none' }), { browser });
  expect(answer).toMatchObject({ place: 'redirect', params: { error: 'login_required' } });
}

/** Returns the token with the algorithm `none`. */
function unsign(token: string): string {
  const [, payload = ''] = token.split('.');
  return `${encode({ alg: 'none', typ: 'JWT' })}.${payload}.`;
}

/** Returns the claims of the token in one that the client has signed with its secret. */
function signByClient(token: string, clientSecret: string): string {
  const [, payload = ''] = token.split('.');
  const text = `${encode({ alg: 'HS256', typ: 'JWT' })}.${payload}`;
  return `${text}.${createHmac('sha256', clientSecret).update(text).digest('base64url')}`;
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

/** The module of the suite's plan "Config OP". */
const CONFIG_MODULES: Readonly<Record<string, Module>> = {
  async 'oidcc-discovery-endpoint-verification'(provider) {
    const { issuer } = provider.route;
    const reply = await send(provider, `${issuer}/.well-known/openid-configuration`);
    expect(reply).toMatchObject({
      status: 200,
      headers: { 'content-type': expect.stringMatching(/^application\/json/) },
    });
    const metadata = await readMetadata(provider);
    for (const [name, value] of Object.entries(metadata).filter(([name]) => name.endsWith('_endpoint'))) {
      expect(value, name).toMatch(/^https:\/\/[^?#]+$/);
    }
    expect(metadata).toMatchObject({
      issuer,
      authorization_endpoint: expect.any(String),
      token_endpoint: expect.any(String),
      userinfo_endpoint: expect.any(String),
      jwks_uri: expect.stringMatching(/^https:/),
      response_types_supported: expect.arrayContaining(['code']),
      subject_types_supported: expect.arrayContaining(['public']),
      id_token_signing_alg_values_supported: expect.arrayContaining(['RS256']),
      scopes_supported: expect.arrayContaining(['openid']),
      grant_types_supported: expect.arrayContaining(['authorization_code']),
      // Both are certified, so both must be offered.
      token_endpoint_auth_methods_supported: expect.arrayContaining(['client_secret_basic', 'client_secret_post']),
      code_challenge_methods_supported: ['S256'],
      claims_supported: expect.arrayContaining(['sub']),
    });
    const { keys } = JSON.parse((await send(provider, metadata.jwks_uri)).body);
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys) {
      expect(key).toMatchObject({ kty: 'RSA', kid: expect.any(String), n: expect.stringMatching(/^[\w-]+$/) });
      for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']) expect(key).not.toHaveProperty(secret);
    }
  },
};

const providers: readonly OpenIdProvider[] = await Promise.all([startUsherProvider(), startReferenceProvider()]);

afterAll(async () => {
  for (const provider of providers) await provider[Symbol.asyncDispose]();
});

const PLANS = [
  { plan: 'Basic OP', modules: BASIC_MODULES, count: 38 },
  { plan: 'Config OP', modules: CONFIG_MODULES, count: 1 },
  { plan: 'RP-Initiated Logout OP', modules: RP_LOGOUT_MODULES, count: 11 },
  { plan: 'Back-Channel Logout OP', modules: BACK_CHANNEL_MODULES, count: 2 },
];

describe.each(PLANS)('$plan', ({ modules, count }) => {
  test('no module is missing', () => {
    expect(Object.keys(modules)).toHaveLength(count);
  });

  describe.each(providers)('$name', (provider) => {
    test.each(Object.entries(modules))('%s', async (_, run) => {
      await run(provider);
    });
  });
});
