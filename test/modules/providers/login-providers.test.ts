/** Which providers people may use, and with which settings, while the operator changes their file. */
import { afterAll, expect, test } from 'vitest';
import { LoginProviders } from '../../../src/modules/providers/domain/login-providers.ts';
import { FakeProvider } from '../../support/fake-provider.ts';

const acme = await FakeProvider.start();
afterAll(() => acme.stop());
const SECRETS = { state: 'a-state', nonce: 'a-nonce', codeVerifier: 'a'.repeat(43) };
const redirectUri = 'https://usher.test/login/callback/acme';

function open(loginProviderIds?: readonly string[]): LoginProviders {
  const loginProviders = [acme.settings(), acme.settings({ id: 'other', name: 'Other' })];
  return new LoginProviders({ loginProviders, loginProviderIds, requestTimeoutMs: 60_000 });
}

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
