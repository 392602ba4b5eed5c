/** What optional parts add to Usher's pages, with and without the account page, which is one of them. */
import { expect, test } from 'vitest';
import { deriveKeys } from '../../src/domain/crypto/derived-keys.ts';
import { createPartActions } from '../../src/login-page/offer/page-offer.ts';
import { MODULES } from '../../src/modules/modules.ts';
import { createRsaJwk } from '../support/oidc.ts';
import { PUBLIC_URL, testConfig } from '../support/service.ts';

const base = testConfig('postgres://localhost/usher');
const config = { ...base, secrets: { ...base.secrets, oidcSigningKeys: [createRsaJwk()] } };
const { secrets } = config;
const accountKeys = deriveKeys(secrets.encryptionKeys ?? [], 'account');
const early = { accountKeys, authPageUrl: `${PUBLIC_URL}/login`, publicUrl: PUBLIC_URL, secrets } as never;
const others = MODULES.filter(({ name }) => name !== 'account');

test.each(others.map((module) => [module.name, module] as const))('%s adds nothing to it', (_, { offer }) => {
  const actions = offer?.(config, early).pages?.createActions?.(undefined, []) ?? [];
  expect(actions.filter(({ path }) => path.startsWith('/account'))).toEqual([]);
});

test('beside it, each adds its own', () => {
  const pages = MODULES.flatMap(({ offer }) => offer?.(config, early).pages ?? []);
  const paths = createPartActions(pages).map(({ path }) => path);
  const own = ['/account/passkey', '/account/second-factor/added', '/account/remembered/forget'];
  expect(paths).toEqual(expect.arrayContaining(own));
});

test('a preview of the login page, which no browser has asked for, has no request for a passkey', () => {
  const passkeys = MODULES.find(({ name }) => name === 'passkeys');
  const { signInWay } = passkeys?.offer?.({ ...config, loginMethods: ['email', 'passkey'] }, early).pages ?? {};
  expect(signInWay).toBeDefined();
  expect(signInWay?.view({ loginMethods: [], requiredAssurance: 1 }, undefined)).toBeUndefined();
});
