/** Providers that lie, are slow, or are down. None of it signs anybody in, links anything, or is an error of Usher. */
import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, expect, test } from 'vitest';
import { FakeProvider } from '../../../support/fake-provider.ts';
import { encode, generateIssuerKey, signToken } from '../../../support/issuer.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { createTestUser } from '../../../support/service.ts';

const acme = await FakeProvider.start();
const other = await FakeProvider.start();
const github = await FakeProvider.start();
const fixture = await LoginFixture.open({
  start: new Date(),
  config: {
    loginProviderIds: undefined,
    loginProviders: [
      acme.settings({ trustEmail: true }),
      other.settings({ id: 'other', name: 'Other' }),
      github.settings({ id: 'github', name: 'GitHub', type: 'github', trustEmail: true }),
    ],
  },
});
const user = await createTestUser(fixture.service);
afterAll(async () => {
  await fixture.close();
  await Promise.all([acme.stop(), other.stop(), github.stop()]);
});
afterEach(() => {
  for (const provider of [acme, other, github]) {
    Object.assign(provider, { claims: {}, forge: undefined, metadata: {}, profile: {}, published: [provider.key] });
    provider.answers.clear();
  }
});

async function leave(provider = 'acme') {
  const arrived = await fixture.arrive();
  const form = arrived.page.forms.find(({ fields }) => fields.provider === provider);
  return { ...arrived, location: (await arrived.browser.post('/login/provider', { ...form?.fields })).location };
}

/** Signs in as the user, and expects that nothing comes of it. */
async function expectNothing(provider = acme, id = 'acme', alert = 'cannot sign you in') {
  const { browser, location, login } = await leave(id);
  const page = await browser.open(provider.signIn(location, { email: user.email, email_verified: true }));
  expect(page).toMatchObject({ status: 200, alert: expect.stringContaining(alert), location: undefined });
  expect(await fixture.isCompleted(login.loginIntentId)).toBe(false);
  const { sql } = fixture.service.database;
  expect(await sql`select from user_identities`).toHaveLength(0);
  expect(await sql`select from proved_identities`).toHaveLength(0);
}

const now = () => Math.floor(Date.now() / 1000);
const stranger = generateIssuerKey('RS256', 'a key of a stranger');

test.each<[string, () => void]>([
  ['another nonce', () => Object.assign(acme.claims, { nonce: 'another' })],
  ['no nonce', () => Object.assign(acme.claims, { nonce: undefined })],
  ['another issuer', () => Object.assign(acme.claims, { iss: 'https://accounts.google.com' })],
  ['another audience', () => Object.assign(acme.claims, { aud: 'another client' })],
  [
    'several audiences and another authorized party',
    () => Object.assign(acme.claims, { aud: ['usher', 'b'], azp: 'b' }),
  ],
  ['an end in the past', () => Object.assign(acme.claims, { iat: now() - 900, exp: now() - 600 })],
  ['no subject', () => Object.assign(acme.claims, { sub: undefined })],
  ['a subject that is no text', () => Object.assign(acme.claims, { sub: 1 })],
  ['a subject with a NUL', () => Object.assign(acme.claims, { sub: 'a\0b' })],
  ['a subject of a kilobyte', () => Object.assign(acme.claims, { sub: 'a'.repeat(1_024) })],
  ['an empty subject', () => Object.assign(acme.claims, { sub: '' })],
  ['no signature', () => (acme.forge = (claims) => `${encode({ alg: 'none' })}.${encode(claims)}.`)],
  ['a signature by its public key as a secret', () => (acme.forge = signWithPublicKey)],
  ['a signature by the client secret', () => (acme.forge = (claims) => signWithSecret(claims, 'a-secret-of-usher'))],
  ['an unknown key', () => (acme.forge = (claims) => signToken({ alg: 'RS256', kid: stranger.kid }, claims, stranger))],
  ['a key of a stranger under its own ID', () => (acme.forge = (claims) => signAs(claims, acme.key.kid))],
  ['three parts of nonsense', () => (acme.forge = () => 'a.b.c')],
])('an ID token with %s is refused', async (_, lie) => {
  lie();
  await expectNothing();
});

function signAs(claims: Record<string, unknown>, kid: string): string {
  return signToken({ alg: 'RS256', kid }, claims, stranger);
}

function signWithSecret(claims: Record<string, unknown>, secret: string, kid?: string): string {
  const input = `${encode({ alg: 'HS256', ...(kid && { kid }) })}.${encode(claims)}`;
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
}

function signWithPublicKey(claims: Record<string, unknown>): string {
  const { kid, publicJwk } = acme.key;
  return signWithSecret(claims, JSON.stringify(publicJwk), kid);
}

const json = (response: ServerResponse, body: unknown, status = 200) =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

test.each<[string, string, (response: ServerResponse) => void]>([
  ['token endpoint that answers 500', '/token', (response) => json(response, {}, 500)],
  [
    'token endpoint that redirects',
    '/token',
    (response) => void response.writeHead(302, { location: acme.origin }).end(),
  ],
  ['token endpoint that answers HTML', '/token', (response) => void response.end('<html>')],
  ['token endpoint that answers nothing', '/token', (response) => void response.destroy()],
  [
    'token endpoint without an ID token',
    '/token',
    (response) => json(response, { access_token: 'a', token_type: 'b' }),
  ],
  ['token endpoint that is huge', '/token', (response) => flood(response)],
])('a %s is refused', async (_, path, answer) => {
  acme.answers.set(path, (_request, response) => answer(response));
  await expectNothing();
});

/** Writes until the other side has had enough, 64 MiB at most. */
function flood(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  let chunks = 1_024;
  const write = () => {
    while (chunks-- > 0) if (!response.write('{"a":'.padEnd(65_536))) return void response.once('drain', write);
    response.end();
  };
  response.on('error', () => {});
  write();
}

test('a provider that does not answer in time is an alert, and delays no other', async () => {
  acme.answers.set('/token', () => {});
  const { browser, location } = await leave();
  const slow = browser.open(acme.signIn(location));
  const quick = await leave('other');
  const page = await quick.browser.open(other.signIn(quick.location, { sub: 'quick' }));
  expect(page.heading).toContain('Other');
  await fixture.service.database.sql`delete from proved_identities`;
  expect(await slow).toMatchObject({ status: 200, alert: expect.stringContaining('cannot sign you in') });
});

test('more than 16 sign-ins at once at a slow provider are refused at once, and others are served', async () => {
  const held: ServerResponse[] = [];
  acme.answers.set('/token', (_request, response) => void held.push(response));
  const logins: Awaited<ReturnType<typeof leave>>[] = [];
  while (logins.length < 17) logins.push(await leave());
  const opened = logins.map(({ browser, location }) => browser.open(acme.signIn(location)));
  const first = await Promise.race(opened);
  expect(first.alert).toContain('cannot sign you in');
  expect(held.length).toBeLessThanOrEqual(16);
  expect((await leave('other')).location).toContain(other.origin);
  for (const response of held) response.destroy();
  await Promise.all(opened);
});

test.each([
  ['no account ID', { id: undefined }],
  ['a text for an ID', { id: 'ada' }],
  ['a negative ID', { id: -1 }],
])('GitHub with %s is refused', async (_, profile) => {
  github.profile = profile;
  await expectNothing(github, 'github');
});

test('an answer that names another issuer is refused', async () => {
  const { browser, location, login } = await leave();
  const callback = acme.signIn(location, { email: user.email, email_verified: true });
  const page = await browser.open(`${callback}&iss=${encodeURIComponent('https://accounts.google.com')}`);
  expect(page.alert).toContain('cannot sign you in');
  expect(await fixture.isCompleted(login.loginIntentId)).toBe(false);
});

test('a code of another login at the same provider is refused', async () => {
  const [mine, victim] = [await leave(), await leave()];
  const stolen = new URL(
    acme.signIn(victim.location, { email: user.email, email_verified: true }),
    'http://usher.test',
  );
  const state = new URL(mine.location ?? '').searchParams.get('state') ?? '';
  stolen.searchParams.set('state', state);
  const page = await mine.browser.open(stolen.pathname + stolen.search);
  expect(page.alert).toContain('cannot sign you in');
});

test('a state is refused after 10 minutes, and when one character of it has changed', async () => {
  const { browser, location } = await leave();
  const callback = acme.signIn(location);
  const state = new URL(callback, 'http://usher.test').searchParams.get('state') ?? '';
  for (const at of [0, 21, 30, 60, 90]) {
    const changed = state.slice(0, at) + (state[at] === 'A' ? 'B' : 'A') + state.slice(at + 1);
    const page = await browser.open(callback.replace(state, changed));
    expect(page.location).toBeUndefined();
  }
  fixture.clock.advance(10 * 60_000 + 1_000);
  expect((await browser.open(callback)).alert).toContain('You have not signed in');
});
