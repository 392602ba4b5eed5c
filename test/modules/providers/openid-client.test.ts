/** What Usher believes of a provider, and what it keeps: its metadata for an hour, its keys until one is unknown. */
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { OpenIdClient } from '../../../src/modules/providers/domain/openid-client.ts';
import { FakeProvider } from '../../support/fake-provider.ts';
import { generateIssuerKey } from '../../support/issuer.ts';

const SECRETS = { state: 'a-state', nonce: 'a-nonce', codeVerifier: 'a'.repeat(43) };
const METADATA = '/.well-known/openid-configuration';
const redirectUri = 'https://usher.test/login/callback/acme';

let acme: FakeProvider;
let client: OpenIdClient;
beforeEach(async () => {
  // Timers and the network go on.
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  acme = await FakeProvider.start();
  client = new OpenIdClient(acme.settings(), 5_000);
});
afterEach(async () => {
  vi.useRealTimers();
  await acme.stop();
});

const leave = () => client.authorizationUrl(SECRETS, { redirectUri, loginHint: '' });

async function signIn(claims: Record<string, unknown> = {}) {
  const callback = new URL(acme.signIn((await leave()).href, { sub: 'ada', ...claims }), redirectUri);
  return await client.identify(callback, SECRETS);
}

const countOf = (path: string) => acme.requests.filter((each) => each === path).length;

async function rotateKey() {
  acme.key = generateIssuerKey('RS256');
  acme.published = [acme.key];
  return await signIn();
}

test('metadata are asked for again after an hour, and nobody waits for them', async () => {
  await leave();
  vi.advanceTimersByTime(60 * 60_000 - 1);
  await leave();
  expect(countOf(METADATA)).toBe(1);
  acme.metadata = { authorization_endpoint: `${acme.origin}/moved` };
  vi.advanceTimersByTime(1);
  expect((await leave()).pathname).toBe('/authorize');
  await expect.poll(async () => (await leave()).pathname).toBe('/moved');
  expect(countOf(METADATA)).toBe(2);
});

test('the old metadata outlive an outage, in which one request a minute asks for new ones', async () => {
  const unhandled = vi.fn();
  process.on('unhandledRejection', unhandled);
  onTestFinished(() => void process.off('unhandledRejection', unhandled));
  await leave();
  acme.answers.set(METADATA, (_request, response) => void response.writeHead(503).end());
  vi.advanceTimersByTime(61 * 60_000);
  for (let time = 0; time < 3; time++) expect((await leave()).pathname).toBe('/authorize');
  await expect.poll(() => countOf(METADATA)).toBe(2);
  acme.answers.clear();
  acme.metadata = { authorization_endpoint: `${acme.origin}/moved` };
  vi.advanceTimersByTime(61_000);
  await expect.poll(async () => (await leave()).pathname).toBe('/moved');
  // It would end the process.
  expect(unhandled).not.toHaveBeenCalled();
});

test('a provider whose first metadata fail is asked again by the next sign-in', async () => {
  acme.answers.set(METADATA, (_request, response) => void response.writeHead(503).end());
  await expect(leave()).rejects.toThrow('openid-configuration answered 503');
  acme.answers.clear();
  expect((await leave()).pathname).toBe('/authorize');
});

test('metadata of another issuer never take the place of the old ones', async () => {
  await leave();
  acme.metadata = { issuer: 'https://evil.test', authorization_endpoint: `${acme.origin}/evil` };
  vi.advanceTimersByTime(61 * 60_000);
  await leave();
  await expect.poll(() => countOf(METADATA)).toBe(2);
  expect((await signIn()).subject).toBe('ada');
});

test('a key that changes twice in a minute is found both times, with one request each', async () => {
  await signIn();
  for (let time = 1; time <= 2; time++) {
    vi.advanceTimersByTime(6_000);
    expect(await rotateKey()).toMatchObject({ subject: 'ada' });
    expect(countOf('/keys')).toBe(1 + time);
  }
});

test('unknown keys ask for the keys once in 5 seconds', async () => {
  await signIn();
  vi.advanceTimersByTime(5_000);
  const stranger = generateIssuerKey('RS256');
  acme.key = stranger;
  for (let time = 0; time < 5; time++) await expect(signIn()).rejects.toThrow();
  expect(countOf('/keys')).toBe(2);
  vi.advanceTimersByTime(5_000);
  for (let time = 0; time < 5; time++) await expect(signIn()).rejects.toThrow();
  expect(countOf('/keys')).toBe(3);
});

test('nothing that userinfo says replaces what the ID token has signed: issuer, name, whether the address is verified', async () => {
  acme.profile = { iss: 'https://evil.test', name: 'Eve', email: 'eve@acme.test', email_verified: true };
  expect(await signIn({ name: 'Ada', email_verified: false })).toMatchObject({
    issuer: acme.origin,
    subject: 'ada',
    name: 'Ada',
    email: 'eve@acme.test',
    isEmailVerified: false,
  });
});

test('what userinfo says is not about the address of the ID token', async () => {
  acme.profile = { email: 'eve@acme.test', email_verified: true };
  expect(await signIn({ email: 'ada@acme.test' })).toMatchObject({ email: 'ada@acme.test', isEmailVerified: false });
});

test('userinfo of another subject than that of the ID token signs nobody in', async () => {
  acme.profile = { sub: 'eve', email: 'eve@acme.test' };
  await expect(signIn()).rejects.toThrow('unexpected sub of the userinfo_endpoint');
});

test('the instant of a sign-in is that of the ID token, not of userinfo', async () => {
  acme.profile = { auth_time: Math.floor(Date.now() / 1_000) };
  expect((await signIn()).authenticatedAt).toBeUndefined();
});

test.each<[string, (keys: object) => unknown]>([
  ['huge', (keys) => ({ ...keys, padding: 'x'.repeat(262_144) })],
  ['empty', () => ({ keys: [] })],
  ['none', () => 'keys'],
])('a key set that is %s signs nobody in', async (_, change) => {
  const body = JSON.stringify(change({ keys: [acme.key.publicJwk] }));
  acme.answers.set('/keys', (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  });
  await expect(signIn()).rejects.toThrow();
  expect(countOf('/keys')).toBe(1);
});

test('known keys are not asked for again within 4 minutes', async () => {
  await signIn();
  for (let seconds = 0; seconds < 230; seconds += 23) {
    vi.advanceTimersByTime(23_000);
    await signIn();
  }
  expect(countOf('/keys')).toBe(1);
});

test.each<[unknown, string | undefined]>([
  [0, '1970-01-01T00:00:00.000Z'],
  [2 ** 32 - 1, '2106-02-07T06:28:15.000Z'],
  [2 ** 32, undefined],
])('a sign-in with the auth_time %j was at %s', async (authTime, instant) => {
  const identity = await signIn({ email: '', auth_time: authTime });
  expect(identity.authenticatedAt?.toISOString()).toBe(instant);
});

test.each([
  [{}, [null, null, null]],
  [{ loginHint: 'ada' }, ['ada', null, null]],
  [{ freshness: { maxAgeSeconds: 60, isRequired: true } }, [null, '60', null]],
  [{ freshness: { maxAgeSeconds: 0, isRequired: true } }, [null, '0', 'login']],
])('the request with %j has a hint, an age and a prompt of %j', async (asked, expected) => {
  const { searchParams } = await client.authorizationUrl(SECRETS, { redirectUri, loginHint: '', ...asked });
  expect(['login_hint', 'max_age', 'prompt'].map((name) => searchParams.get(name))).toEqual(expected);
});

test.each<[string | undefined, string[] | undefined, RegExp]>([
  [undefined, undefined, /^Basic /],
  [undefined, ['client_secret_basic'], /^Basic /],
  [undefined, ['client_secret_basic', 'client_secret_post'], /^$/],
  ['client_secret_basic', ['client_secret_post'], /^Basic /],
  ['client_secret_post', ['client_secret_basic'], /^$/],
])('by the method %s, and of %j, the secret comes in the header %s', async (method, listed, header) => {
  acme.metadata = { token_endpoint_auth_methods_supported: listed };
  client = new OpenIdClient(acme.settings({ tokenEndpointAuthMethod: method as never }), 5_000);
  let authorization = 'none';
  acme.answers.set('/token', (request, response) => {
    authorization = request.headers.authorization ?? '';
    response.writeHead(503).end();
  });
  await expect(signIn()).rejects.toThrow('token_endpoint answered 503');
  expect(authorization).toMatch(header);
});

const CHALLENGE = { 'www-authenticate': 'Bearer error="invalid_token"' };

function answer(path: string, status: number, body = '{}', headers: Readonly<Record<string, string>> = {}) {
  acme.answers.set(path, (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
  });
}

test.each<[string, number, Record<string, unknown>, string]>([
  ['/token', 400, { error: 'invalid_grant' }, 'token_endpoint answered invalid_grant'],
  ['/token', 400, { error: 'ada@app.test' }, 'token_endpoint answered 400'],
  ['/token', 401, { error: 'invalid_client' }, 'client secret refused (client_secret_basic)'],
  ['/token', 403, {}, 'no permission: token_endpoint answered 403'],
  ['/keys', 500, {}, 'jwks_uri answered 500'],
  [METADATA, 401, {}, 'no permission: openid-configuration answered 401'],
])('an answer of %s with %i and %j: %s', async (path, status, body, message) => {
  answer(path, status, JSON.stringify(body));
  await expect(signIn()).rejects.toThrow(new Error(message));
});

test('a challenge of the token endpoint refuses the secret, and a page is no JSON', async () => {
  answer('/token', 401, '{}', CHALLENGE);
  await expect(signIn()).rejects.toThrow(new Error('client secret refused (client_secret_basic)'));
  answer('/token', 200, '<html>', { 'content-type': 'text/html' });
  await expect(signIn()).rejects.toThrow(new Error('token_endpoint answered without JSON'));
});

test.each<[number, Record<string, string>, string]>([
  [401, CHALLENGE, 'no permission: userinfo_endpoint answered 401'],
  [400, CHALLENGE, 'userinfo_endpoint answered 400'],
  [403, {}, 'no permission: userinfo_endpoint answered 403'],
  [500, {}, 'userinfo_endpoint answered 500'],
])('userinfo with %i and %j: the person is known, but not the address', async (status, headers, problem) => {
  answer('/userinfo', status, '{}', headers);
  expect(await signIn()).toMatchObject({ subject: 'ada', email: '', problem });
});

test('a provider without userinfo is not asked for it', async () => {
  acme.metadata = { userinfo_endpoint: undefined };
  expect(await signIn()).toMatchObject({ subject: 'ada', email: '', problem: undefined });
});

test('an address or a name that is no text is none', async () => {
  expect(await signIn({ email: 7, name: ['Ada'] })).toMatchObject({ email: '', name: '' });
});

test.each<[string, (now: number) => Record<string, unknown>, string]>([
  ['another client', () => ({ aud: 'another' }), 'unexpected aud of the ID token'],
  ['another issuer', () => ({ iss: 'https://evil.test' }), 'unexpected iss of the ID token'],
  [
    'another spelling',
    () => ({ iss: `${acme.origin}/` }),
    'iss of the ID token differs from the metadata by a slash at its end',
  ],
  ['an hour ago', (now) => ({ exp: now - 3_600 }), 'clocks differ: exp of the ID token is 3600 s in the past'],
  ['not yet', (now) => ({ nbf: now + 90 }), 'clocks differ: nbf of the ID token is 90 s in the future'],
  ['nobody', () => ({ sub: 'a\u0000b' }), 'malformed subject'],
  ['a long subject', () => ({ sub: 'a'.repeat(256) }), 'malformed subject'],
])('an ID token for %s signs nobody in', async (_, claimsAt, message) => {
  await expect(signIn(claimsAt(Math.floor(Date.now() / 1_000)))).rejects.toThrow(new Error(message));
});

test.each([['1'], [-1], [null]])('an ID token with the auth_time %j signs nobody in', async (authTime) => {
  await expect(signIn({ auth_time: authTime })).rejects.toThrow();
});

test.each([
  ['/realm', '/realm/', 'issuer of the metadata differs from the file by a slash at its end'],
  ['/realm/', '/realm', 'issuer of the metadata differs from the file by a slash at its end'],
  ['/realm', '/other', 'unexpected issuer of the metadata'],
])('the issuer with %j in the file and %j in the metadata: %s', async (inFile, inMetadata, message) => {
  answer('/realm/.well-known/openid-configuration', 200, JSON.stringify({ issuer: `${acme.origin}${inMetadata}` }));
  client = new OpenIdClient(acme.settings({ issuer: `${acme.origin}${inFile}` }), 5_000);
  await expect(leave()).rejects.toThrow(new Error(message));
});
