import { createPrivateKey, generateKeyPairSync, randomUUID } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, type JWK } from 'jose';
import { describe, expect, test } from 'vitest';
import { AuthTokens } from '../../../src/domain/tokens/auth-tokens.ts';
import { generateIssuerKey, signToken } from '../../support/issuer.ts';
import { refusalOf } from '../../support/refusals.ts';
import { attacksOn } from '../../support/token-attacks.ts';
import { createTokenForge } from '../../support/token-forge.ts';

const ISSUER = 'https://usher.test';
const CLIENT_ID = 'client_0123456789abcdef0123456789abcdef';
const NOW = new Date('2026-03-01T12:00:00.250Z');
const SECOND = Math.floor(NOW.getTime() / 1000);
const LIFETIME_SECONDS = 900;

const REFUSAL = {
  code: 'unauthenticated',
  message: 'Invalid or expired token',
  violations: [],
  reason: 'INVALID_TOKEN',
};

const edwards = createJwk('EdDSA', 'edwards-key');
const curve = createJwk('ES256', 'curve-key');

const tokens = await AuthTokens.create(ISSUER, [edwards, curve]);
const login = {
  userId: randomUUID(),
  loginIntentId: randomUUID(),
  clientId: CLIENT_ID,
  authenticatedAt: NOW,
  method: 'email',
  assurance: 1,
} as const;
const valid = await tokens.mint(login);

// Its header and claims: test/contract/login.test.ts.
describe('a minted token', () => {
  test('may lack when and how the user signed in', async () => {
    const { auth_time: _, amr: __, ...claims } = decodeJwt(valid);
    const shorter = signToken(decodeProtectedHeader(valid), claims, {
      alg: 'EdDSA',
      privateKey: toPrivateKey(edwards),
    });
    const read = { ...login, authenticatedAt: new Date(SECOND * 1000), method: 'issuer' };
    expect(tokens.verify(shorter, CLIENT_ID, NOW)).toEqual(read);
  });

  test.each([edwards, curve])('verifies when $alg signs it', async (key) => {
    const issuer = await AuthTokens.create(ISSUER, [key]);
    expect(issuer.verify(await issuer.mint(login), CLIENT_ID, NOW)).toEqual(login);
  });

  test('verifies until the second it expires in', async () => {
    const last = new Date((SECOND + LIFETIME_SECONDS) * 1000 - 1);
    expect(tokens.verify(valid, CLIENT_ID, last)).toEqual(login);
    expect(await refusalOf(tryToVerify(tokens, valid, CLIENT_ID, new Date(last.getTime() + 1)))).toEqual(REFUSAL);
  });
});

// Over the protocols: test/robustness/tokens.test.ts.
describe.each([
  ['EdDSA', 'ES256'],
  ['ES256', 'EdDSA'],
] as const)('a token signed with %s', (alg, otherAlg) => {
  const [key, otherKey] = [generateIssuerKey(alg, 'the-key'), generateIssuerKey(otherAlg, 'the-other-key')];
  const forge = createTokenForge({
    key,
    otherKey,
    issuer: ISSUER,
    clientId: CLIENT_ID,
    userId: login.userId,
    second: SECOND,
  });
  const jwks = [key, otherKey].map((each) => ({
    ...each.privateKey.export({ format: 'jwk' }),
    kid: each.kid,
    alg: each.alg,
  }));

  test('is accepted when valid', async () => {
    const issuer = await AuthTokens.create(ISSUER, jwks);
    expect(issuer.verify(forge.token(), CLIENT_ID, NOW)).toMatchObject({ userId: login.userId });
  });

  test.each<[string, forge: () => string, read?: object]>([
    ['a not-before of this second', () => forge.token({ claims: { nbf: SECOND } })],
    [
      'spaces in its JSON',
      () => forge.seal(JSON.stringify(forge.header(), null, 1), JSON.stringify(forge.claims(), null, 1)),
    ],
    [
      'names that its own objects repeat',
      () =>
        forge.seal(
          JSON.stringify(forge.header()),
          `{"x": [{"sub": 1},{"sub": 2}], "y": {"sub": 3},${JSON.stringify(forge.claims()).slice(1)}`,
        ),
    ],
    ['a method that is no list', () => forge.token({ claims: { amr: 'email' } }), { method: 'issuer' }],
    ['no method in its list', () => forge.token({ claims: { amr: [] } }), { method: 'issuer' }],
    [
      'a sign-in at no instant',
      () => forge.token({ claims: { auth_time: 'now' } }),
      { authenticatedAt: new Date(SECOND * 1_000) },
    ],
  ])('is accepted with %s', async (_name, forgeToken, read = {}) => {
    const issuer = await AuthTokens.create(ISSUER, jwks);
    expect(issuer.verify(forgeToken(), CLIENT_ID, NOW)).toMatchObject({ userId: login.userId, ...read });
  });

  test.each(attacksOn(alg))('is refused with %s', async (_name, attack) => {
    const issuer = await AuthTokens.create(ISSUER, jwks);
    expect(await refusalOf(tryToVerify(issuer, attack(forge), CLIENT_ID, NOW))).toEqual(REFUSAL);
  });

  test('is refused by another application', async () => {
    const issuer = await AuthTokens.create(ISSUER, jwks);
    expect(await refusalOf(tryToVerify(issuer, forge.token(), `${CLIENT_ID}0`, NOW))).toEqual(REFUSAL);
  });
});

describe('when keys are rotated', () => {
  test('the first key signs and the second still verifies', async () => {
    const rotated = await AuthTokens.create(ISSUER, [curve, edwards]);
    expect(decodeProtectedHeader(await rotated.mint(login))).toEqual({
      alg: 'ES256',
      typ: 'login+jwt',
      kid: 'curve-key',
    });
    expect(rotated.verify(valid, CLIENT_ID, NOW)).toEqual(login);
  });

  test('a token of a removed key is refused', async () => {
    const rotated = await AuthTokens.create(ISSUER, [curve]);
    expect(await refusalOf(tryToVerify(rotated, valid, CLIENT_ID, NOW))).toEqual(REFUSAL);
  });
});

test('the published keys are the public halves of all keys, in order', () => {
  const { x, crv, kty } = edwards;
  expect(tokens.publicJwks).toStrictEqual({
    keys: [
      { kty, crv, x, kid: 'edwards-key', alg: 'EdDSA', use: 'sig' },
      { kty: 'EC', crv: 'P-256', x: curve.x, y: curve.y, kid: 'curve-key', alg: 'ES256', use: 'sig' },
    ],
  });
});

test('keys are replaced as long as the one that has signed is one of them', async () => {
  const rotated = await AuthTokens.create(ISSUER, [edwards]);
  await expect(rotated.replaceKeys([curve])).rejects.toThrow('edwards-key has been in use');
  await rotated.replaceKeys([curve, edwards]);
  expect(decodeProtectedHeader(await rotated.mint(login)).kid).toBe('curve-key');
  expect(rotated.verify(valid, CLIENT_ID, NOW)).toEqual(login);
  expect(rotated.findKey('edwards-key', 'ES256')).toBeUndefined();
});

test('a login of a protocol that is off has no answer', () => {
  expect(tokens.protocolOf({ responseMode: '' })).toBeUndefined();
  expect(() => tokens.protocolOf({ responseMode: 'query' })).toThrow('is off');
});

const ES384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey.export({ format: 'jwk' });
const INCOMPLETE = 'must have a kid and an alg';

test.each<[string, JWK[], message: string]>([
  ['there are none', [], 'There is no key'],
  ['one has no ID', [{ ...edwards, kid: '' }], INCOMPLETE],
  ['one has no algorithm', [{ ...edwards, alg: '' }], INCOMPLETE],
  ['one has another algorithm', [{ ...ES384, kid: 'x', alg: 'ES384' }], INCOMPLETE],
  ['one is not for its algorithm', [{ ...edwards, alg: 'ES256' }], ''],
  ['one is symmetric', [{ kty: 'oct', k: 'AAAA', alg: 'HS256', kid: 'x' }], INCOMPLETE],
  ['one is symmetric, and says otherwise', [{ kty: 'oct', k: 'AAAA', alg: 'EdDSA', kid: 'x' }], 'asymmetric'],
  ['two share an ID', [edwards, { ...curve, kid: 'edwards-key' }], 'the same kid'],
])('signing keys are rejected if %s', async (_title, jwks, message) => {
  await expect(AuthTokens.create(ISSUER, jwks)).rejects.toThrow(message);
});

async function tryToVerify(issuer: AuthTokens, ...given: Parameters<AuthTokens['verify']>) {
  return issuer.verify(...given);
}

function toPrivateKey(jwk: JWK) {
  return createPrivateKey({ key: { ...jwk }, format: 'jwk' });
}

function createJwk(alg: 'EdDSA' | 'ES256', kid: string): JWK {
  return { ...generateIssuerKey(alg, kid).privateKey.export({ format: 'jwk' }), kid, alg };
}
