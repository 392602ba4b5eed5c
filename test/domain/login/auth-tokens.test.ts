import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JWK, jwtVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import { AuthTokens } from '../../../src/domain/login/auth-tokens.ts';
import { refusalOf } from '../../support/refusals.ts';

const ISSUER = 'https://usher.test';
const CLIENT_ID = 'client_0123456789abcdef0123456789abcdef';
const NOW = new Date('2026-03-01T12:00:00.250Z');
const SECOND = Math.floor(NOW.getTime() / 1000);
const LIFETIME_SECONDS = 900;

const REFUSAL = { code: 'unauthenticated', message: 'Invalid or expired token', violations: [], reason: undefined };

interface Key {
  readonly kid: string;
  readonly alg: 'EdDSA' | 'ES256';
  readonly jwk: JWK;
}

const edwards = createKey('EdDSA', 'edwards-key');
const curve = createKey('ES256', 'curve-key');

const tokens = await AuthTokens.create(ISSUER, [edwards.jwk, curve.jwk]);
const login = { userId: randomUUID(), loginIntentId: randomUUID(), clientId: CLIENT_ID };
const valid = await tokens.mint(login, NOW);

describe('a minted token', () => {
  test('has the documented header and claims', () => {
    expect(decodeProtectedHeader(valid)).toEqual({ alg: 'EdDSA', typ: 'login+jwt', kid: 'edwards-key' });
    expect(decodeJwt(valid)).toEqual({
      iss: ISSUER,
      aud: CLIENT_ID,
      sub: login.userId,
      jti: login.loginIntentId,
      iat: SECOND,
      exp: SECOND + LIFETIME_SECONDS,
    });
  });

  test.each([edwards, curve])('verifies when $alg signs it', async (key) => {
    const issuer = await AuthTokens.create(ISSUER, [key.jwk]);
    expect(await issuer.verify(await issuer.mint(login, NOW), CLIENT_ID, NOW)).toEqual(login);
  });

  test('verifies until the second it expires in', async () => {
    const last = new Date((SECOND + LIFETIME_SECONDS) * 1000 - 1);
    expect(await tokens.verify(valid, CLIENT_ID, last)).toEqual(login);
    expect(await refusalOf(tokens.verify(valid, CLIENT_ID, new Date(last.getTime() + 1)))).toEqual(REFUSAL);
  });

  test('verifies with the published keys alone', async () => {
    const { payload } = await jwtVerify(valid, createLocalJWKSet(tokens.publicJwks), {
      issuer: ISSUER,
      audience: CLIENT_ID,
      currentDate: NOW,
    });
    expect(payload.sub).toBe(login.userId);
  });
});

describe('a token is refused', () => {
  test('when another application presents it', async () => {
    for (const clientId of ['client_other', '', CLIENT_ID.toUpperCase()]) {
      expect(await refusalOf(tokens.verify(valid, clientId, NOW)), clientId).toEqual(REFUSAL);
    }
  });

  test('when another issuer signed it with the same key', async () => {
    const elsewhere = await AuthTokens.create('https://elsewhere.test', [edwards.jwk]);
    expect(await refusalOf(elsewhere.verify(valid, CLIENT_ID, NOW))).toEqual(REFUSAL);
  });
});

describe('when keys are rotated', () => {
  test('the first key signs and the second still verifies', async () => {
    const rotated = await AuthTokens.create(ISSUER, [curve.jwk, edwards.jwk]);
    expect(decodeProtectedHeader(await rotated.mint(login, NOW))).toEqual({
      alg: 'ES256',
      typ: 'login+jwt',
      kid: 'curve-key',
    });
    expect(await rotated.verify(valid, CLIENT_ID, NOW)).toEqual(login);
  });

  test('a token of a removed key is refused', async () => {
    const rotated = await AuthTokens.create(ISSUER, [curve.jwk]);
    expect(await refusalOf(rotated.verify(valid, CLIENT_ID, NOW))).toEqual(REFUSAL);
  });
});

describe('the published keys', () => {
  test('are the public halves of all keys, in order', () => {
    const { x, crv, kty } = edwards.jwk;
    expect(tokens.publicJwks).toEqual({
      keys: [
        { kty, crv, x, kid: 'edwards-key', alg: 'EdDSA', use: 'sig' },
        { kty: 'EC', crv: 'P-256', x: curve.jwk.x, y: curve.jwk.y, kid: 'curve-key', alg: 'ES256', use: 'sig' },
      ],
    });
  });

  test('have no private members', () => {
    const published = JSON.stringify(tokens.publicJwks);
    for (const { jwk } of [edwards, curve]) expect(published).not.toContain(jwk.d);
    for (const key of tokens.publicJwks.keys) {
      for (const name of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k', 'oth']) expect(key).not.toHaveProperty(name);
    }
  });
});

describe('signing keys are rejected', () => {
  test.each<[string, JWK[]]>([
    ['when there are none', []],
    ['without an ID', [withoutMember(edwards.jwk, 'kid')]],
    ['without an algorithm', [withoutMember(edwards.jwk, 'alg')]],
    ['of another algorithm', [{ ...edwards.jwk, alg: 'RS256' }]],
    ['that are symmetric', [{ kty: 'oct', k: 'AAAA', alg: 'HS256', kid: 'x' }]],
    ['that share an ID', [edwards.jwk, { ...curve.jwk, kid: edwards.kid }]],
  ])('%s', async (_title, jwks) => {
    await expect(AuthTokens.create(ISSUER, jwks)).rejects.toThrow(Error);
  });
});

function createKey(alg: Key['alg'], kid: string): Key {
  const { privateKey } =
    alg === 'EdDSA' ? generateKeyPairSync('ed25519') : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { kid, alg, jwk: { ...privateKey.export({ format: 'jwk' }), kid, alg } };
}

function withoutMember(jwk: JWK, name: 'kid' | 'alg'): JWK {
  return Object.fromEntries(Object.entries(jwk).filter(([member]) => member !== name));
}
