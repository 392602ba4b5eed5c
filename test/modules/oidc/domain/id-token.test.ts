/** ID tokens: their signature and their claims. */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import type { Attributes } from '../../../../src/database/schema/column-types.ts';
import { presentScope, readScope } from '../../../../src/domain/grants/scope.ts';
import { chooseUsername, idTokenClaims, profileClaims } from '../../../../src/modules/oidc/domain/tokens/id-token.ts';
import { OidcSigningKeys } from '../../../../src/modules/oidc/domain/tokens/signing-keys.ts';

const createJwk = (kid: string) => ({
  ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }),
  kid,
});
const older = createJwk('older');
const newer = createJwk('newer');
const keys = new OidcSigningKeys([newer, older]);

const now = new Date('2026-03-01T12:10:00.900Z');
const profile = {
  email: 'ada@example.com',
  isEmailVerified: true,
  name: 'Ada',
  profileImage: 'https://a.test/a.png',
  groups: ['editors'],
};
const facts = {
  issuer: 'https://usher.test',
  clientId: 'client_1',
  userId: randomUUID(),
  sid: randomUUID(),
  authenticatedAt: new Date('2026-03-01T12:00:00.999Z'),
  method: 'email',
  assurance: 1,
  nonce: null,
  scope: readScope('openid'),
  profile,
  now,
} as const;

describe('an ID token', () => {
  test('verifies with the published keys, under RS256 and the key ID of the first', async () => {
    const token = await keys.sign(idTokenClaims(facts));
    const { protectedHeader, payload } = await jwtVerify(token, createLocalJWKSet(keys.publicJwks), {
      issuer: facts.issuer,
      audience: facts.clientId,
      currentDate: now,
    });
    expect(protectedHeader).toEqual({ alg: 'RS256', typ: 'JWT', kid: 'newer' });
    expect(payload.exp).toBe(Number(payload.iat) + 900);
    expect(payload).toMatchObject({ sub: facts.userId, amr: ['email'], sid: facts.sid });
  });

  test.each([
    ['email', 1, ['email'], '1'],
    ['email', 2, ['email', 'otp', 'mfa'], '2'],
    ['wallet', 1, ['wallet'], '1'],
    ['acme', 1, ['acme'], '1'],
    ['passkey', 1, ['passkey', 'pop'], '1'],
    ['passkey', 2, ['passkey', 'pop', 'otp', 'mfa'], '2'],
    ['passkey', 3, ['passkey', 'pop', 'user', 'mfa'], 'phr'],
    ['page', 1, ['page'], '1'],
    ['page', 2, ['page', 'mfa'], '2'],
    ['page', 3, ['page', 'mfa'], 'phr'],
  ])('of a sign-in by %s of level %d has registered values of amr and acr', (method, assurance, amr, acr) => {
    expect(idTokenClaims({ ...facts, method, assurance })).toMatchObject({ amr, acr });
  });

  test('is signed with keys whose public halves alone are in the key set', () => {
    for (const key of keys.publicJwks.keys)
      expect(Object.keys(key).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
  });

  test('has the instant of the sign-in in seconds', () => {
    expect(idTokenClaims(facts).auth_time).toBe(Date.parse('2026-03-01T12:00:00Z') / 1_000);
  });

  test.each([
    ['openid', {}],
    ['openid email', { email: profile.email, email_verified: true }],
    ['openid profile', { name: 'Ada', picture: profile.profileImage, preferred_username: 'lovelace' }],
    ['openid groups', { groups: ['editors'] }],
  ])('shows of the user what the scope %s allows', (scope, expected) => {
    const { iss, sub, aud, iat, exp, auth_time, amr, acr, sid, ...claims } = idTokenClaims({
      ...facts,
      scope: readScope(scope),
      profile: { ...profile, preferredUsername: 'lovelace' },
    });
    expect(claims).toEqual(expected);
  });

  test('names a user without a name by the username, and has the nonce of the request', () => {
    const unnamed = { ...profile, name: null, preferredUsername: 'lovelace' };
    const claims = idTokenClaims({ ...facts, scope: readScope('profile'), profile: unnamed, nonce: 'n-1' });
    expect(claims).toMatchObject({ name: 'lovelace', preferred_username: 'lovelace', nonce: 'n-1' });
  });

  test('leaves out what the user does not have, and an address that is not verified stays unmarked', () => {
    const claims = idTokenClaims({
      ...facts,
      scope: readScope('openid email profile'),
      profile: { email: profile.email, isEmailVerified: false, name: null, profileImage: null, groups: [] },
    });
    expect(claims).toMatchObject({ email: profile.email });
    for (const name of ['email_verified', 'name', 'picture', 'nonce']) expect(claims).not.toHaveProperty(name);
  });

  test('shows no address of a user who has none, and does not call it verified', () => {
    const claims = idTokenClaims({
      ...facts,
      scope: readScope('openid email'),
      profile: { ...profile, email: '', isEmailVerified: true },
    });
    for (const name of ['email', 'email_verified']) expect(claims).not.toHaveProperty(name);
  });
});

test.each([
  ['ada@example.com', null, 'client_1', 'ada'],
  ['"a@b"@example.com', null, 'client_1', '"a@b"'],
  ['ada@example.com', 'lovelace', 'client_1', 'lovelace'],
  ['', 'lovelace', 'client_1', 'lovelace'],
  ['', null, 'client_1', null],
  ['ada@example.com', 'lovelace', 'https://assistant.test/client', null],
])('the username of %j, called %j, is at %s: %j', (email, preferredUsername, clientId, username) => {
  expect(chooseUsername({ email, preferredUsername }, clientId)).toBe(username);
});

test('there are no keys without one that signs', () => {
  expect(() => new OidcSigningKeys([])).toThrow('There is no key');
  const own = new OidcSigningKeys([older]);
  expect(() => own.replace([])).toThrow('There is no key');
  expect(own.publicJwks.keys).toHaveLength(1);
});

test('the key that has signed until now stays among those that replace it', async () => {
  const own = new OidcSigningKeys([older]);
  expect(() => own.replace([newer])).toThrow('has been in use until now');
  const token = await own.sign({ sub: 'ada' });
  own.replace([newer, older]);
  expect(own.verify(token, () => true)).toEqual({ sub: 'ada' });
  expect(own.publicJwks.keys.map(({ kid }) => kid)).toEqual(['newer', 'older']);
});

describe('verify', () => {
  test('accepts what any of the keys has signed', async () => {
    const token = await new OidcSigningKeys([older]).sign({ sub: 'ada' });
    expect(keys.verify(token, () => true)).toEqual({ sub: 'ada' });
  });

  test('refuses claims that are not those expected, which have no signature to check', async () => {
    const token = await keys.sign({ sub: 'ada' });
    expect(keys.verify(token, ({ sub }) => sub !== 'ada')).toBeUndefined();
  });

  test('refuses another type, another key, a changed token, and what is none', async () => {
    const token = await keys.sign({ sub: 'ada' });
    const [header, payload, signature] = token.split('.');
    const none = Buffer.from('{"alg":"none","typ":"JWT","kid":"newer"}').toString('base64url');
    const stranger = new OidcSigningKeys([createJwk('newer')]);
    const refused = [
      await keys.sign({ sub: 'ada' }, 'logout+jwt'),
      await stranger.sign({ sub: 'ada' }),
      await new OidcSigningKeys([createJwk('stranger')]).sign({ sub: 'ada' }),
      `${header}.${Buffer.from('{"sub":"eve"}').toString('base64url')}.${signature}`,
      `${none}.${payload}.`,
      `${token}.`,
      `${header}.${payload}`,
      `${header}.${Buffer.from('[]').toString('base64url')}.${signature}`,
      'a.b.c',
      '..',
      '',
    ];
    for (const text of refused) expect(keys.verify(text, ({ sub }) => sub !== '')).toBeUndefined();
  });
});

test.each([
  ['openid', 'openid'],
  ['email openid address', 'openid email'],
  ['openid openid  profile offline_access', 'openid profile offline_access'],
  ['OpenID', ''],
  ['', ''],
])('the scopes of "%s" are "%s"', (text, expected) => {
  expect(presentScope(readScope(text))).toBe(expected);
});

test('has the attributes with the scope profile, up to 1,024 bytes, and names those that are left out', () => {
  const attributes = { a: 'x'.repeat(500), b: 'y'.repeat(600), c: ['z'], d: 5, e: false };
  const nobody = { email: 'a@b.test', isEmailVerified: false, name: null, profileImage: null, groups: [] };
  const claimsOf = (scope: string, leftOut: string[] = []) =>
    profileClaims(readScope(scope), { ...nobody, attributes }, (name) => leftOut.push(name));
  const fitting = (given: Attributes) => profileClaims(readScope('profile'), { ...nobody, attributes: given });
  const leftOut: string[] = [];
  expect(claimsOf('openid profile', leftOut)).toEqual({ a: attributes.a, c: ['z'], d: 5, e: false });
  expect(leftOut).toEqual(['b']);
  const fits = 'x'.repeat(1_024 - Buffer.byteLength('{"a":""}'));
  expect(fitting({ a: fits })).toEqual({ a: fits });
  expect(fitting({ a: `${fits}x` })).toEqual({});
  expect(claimsOf('openid email')).toEqual({ email: 'a@b.test' });
});
