/**
 * Which providers people may use, and with which settings, while the operator changes their file. How many sign-ins wait
 * for a provider, how long, and what is said of its faults.
 */
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, expect, test } from 'vitest';
import type { ServiceError } from '../../../src/domain/core/errors.ts';
import { LoginProviders } from '../../../src/modules/providers/domain/login-providers.ts';
import { FakeProvider } from '../../support/fake-provider.ts';

const acme = await FakeProvider.start();
afterAll(() => acme.stop());
afterEach(() => acme.answers.clear());
const SECRETS = { state: 'a-state', nonce: 'a-nonce', codeVerifier: 'a'.repeat(43) };
const redirectUri = 'https://usher.test/login/callback/acme';

const METADATA = '/.well-known/openid-configuration';

function open(loginProviderIds?: readonly string[], requestTimeoutMs = 60_000): LoginProviders {
  const loginProviders = [acme.settings(), acme.settings({ id: 'other', name: 'Other' })];
  return new LoginProviders({ loginProviders, loginProviderIds, requestTimeoutMs });
}

/** Returns where a sign-in goes, or why it does not. */
const leave = (providers: LoginProviders) =>
  providers
    .require('acme')
    .authorizationUrl(SECRETS, { redirectUri, loginHint: '' })
    .then(
      ({ pathname }) => pathname,
      ({ detail }: ServiceError) => detail,
    );

async function signIn(providers: LoginProviders): Promise<string> {
  const connection = providers.require('acme');
  const { href } = await connection.authorizationUrl(SECRETS, { redirectUri, loginHint: '' });
  await connection.identify(new URL(acme.signIn(href), redirectUri), SECRETS);
  return acme.secret;
}

test('a provider that the operator does not offer is neither shown nor accepted', () => {
  const providers = open(['acme']);
  expect(providers.all.map(({ id }) => id)).toEqual(['acme']);
  expect(() => providers.require('other')).toThrow('Login method not enabled');
  expect(providers.issuers.has('other')).toBe(true);
});

test('a provider gets its new secret after the file has changed, and one that was removed is not accepted', async () => {
  const providers = open();
  expect(await signIn(providers)).toBe('a-secret-of-usher');
  providers.replace([acme.settings({ clientSecret: 'another-secret' })]);
  expect(await signIn(providers)).toBe('another-secret');
  expect(() => providers.require('other')).toThrow('Login method not enabled');
});

test('a provider that has not changed keeps its metadata', async () => {
  const providers = open();
  await signIn(providers);
  const before = acme.requests.filter((path) => path.includes('well-known')).length;
  providers.replace([acme.settings()]);
  await signIn(providers);
  expect(acme.requests.filter((path) => path.includes('well-known'))).toHaveLength(before);
});

test('GitHub is asked in its own way', async () => {
  const loginProviders = [acme.settings({ type: 'github' })];
  const providers = new LoginProviders({ loginProviders, loginProviderIds: undefined, requestTimeoutMs: 60_000 });
  expect(await leave(providers)).toBe('/login/oauth/authorize');
});

test('sixteen sign-ins wait for a provider at once, and the next one is told so at once', async () => {
  const waiting: ServerResponse[] = [];
  acme.answers.set(METADATA, (_request, response) => void waiting.push(response));
  const providers = open();
  const first = Array.from({ length: 16 }, () => leave(providers));
  expect(await Promise.race([leave(providers), ...first])).toBe('busy');
  await expect.poll(() => waiting.length).toBeGreaterThan(0);
  for (const response of waiting) response.writeHead(503).end();
  expect(new Set(await Promise.all(first))).toEqual(new Set(['openid-configuration answered 503']));
  acme.answers.clear();
  expect(await leave(providers)).toBe('/authorize');
});

test('a provider that does not answer is given up while there is time to say so', async () => {
  acme.answers.set(METADATA, () => {});
  const providers = open(undefined, 500);
  const requestTimeout = sleep(500, 'the call is over');
  expect(await Promise.race([leave(providers), requestTimeout])).toBe('timeout');
  expect(providers.readAnswers()[0]).toMatchObject({ name: 'Acme', at: expect.any(Date), problem: 'timeout' });
});

test('no timer outlives its sign-in', async () => {
  const providers = open();
  const countTimers = () => process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length;
  await leave(providers);
  const before = countTimers();
  for (let count = 0; count < 30; count++) await leave(providers);
  expect(countTimers() - before).toBeLessThan(15);
});

async function identify(providers: LoginProviders): Promise<string | undefined> {
  const connection = providers.require('acme');
  const { href } = await connection.authorizationUrl(SECRETS, { redirectUri, loginHint: '' });
  const callback = new URL(acme.signIn(href), redirectUri);
  return connection.identify(callback, SECRETS).then(
    () => undefined,
    ({ detail }: ServiceError) => detail,
  );
}

const json = { 'content-type': 'application/json' };

test.each<[what: string, (response: ServerResponse) => void, detail: string, problem?: string]>([
  ['hangs up', (response) => void response.destroy(), 'UND_ERR_SOCKET', 'UND_ERR_SOCKET'],
  [
    'refuses the code',
    (response) => response.writeHead(400, json).end('{"error":"invalid_grant"}'),
    'token_endpoint answered invalid_grant',
  ],
  ['has no token', (response) => response.writeHead(200, json).end('{}'), 'OAUTH_INVALID_RESPONSE'],
  ['says too much', (response) => response.writeHead(200, json).end('x'.repeat(300_000)), 'Error'],
])('a provider that %s: its operator reads %s', async (_, answer, detail, problem) => {
  const providers = open();
  acme.answers.set('/token', (_request, response) => answer(response));
  expect(await identify(providers)).toBe(detail);
  expect(providers.readAnswers()[0]).toEqual({ name: 'Acme', assurance: {}, at: expect.any(Date), problem });
});

test('a provider that is down: its operator reads why, and nothing of it once it is back', async () => {
  const down = await FakeProvider.start();
  const loginProviders = [down.settings()];
  await down.stop();
  const providers = new LoginProviders({ loginProviders, loginProviderIds: undefined, requestTimeoutMs: 60_000 });
  expect(await leave(providers)).toBe('ECONNREFUSED');
  expect(providers.readAnswers()[0]?.problem).toBe('ECONNREFUSED');
});
