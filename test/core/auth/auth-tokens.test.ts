import { createHmac, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JWK, jwtVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import { AuthTokens } from '../../../src/core/auth/auth-tokens.ts';
import { refusalOf } from '../../support/refusals.ts';

const ISSUER = 'https://usher.test';
const CLIENT_ID = 'client_0123456789abcdef0123456789abcdef';
const NOW = new Date('2026-03-01T12:00:00.250Z');
const SECOND = Math.floor(NOW.getTime() / 1000);
const LIFETIME_SECONDS = 900;

const REFUSAL = { kind: 'unauthenticated', message: 'Invalid or expired token', violations: [], cause: undefined };

/** The JSON that is to be signed; nothing in it need be as it should. */
type Json = Record<string, unknown>;

interface Key {
  readonly kid: string;
  readonly alg: 'EdDSA' | 'ES256';
  readonly jwk: JWK;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const edwards = createKey('EdDSA', 'edwards-key');
const curve = createKey('ES256', 'curve-key');
const foreign = createKey('EdDSA', 'edwards-key');

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

  test.each([edwards, curve])('verifies when it is signed with $alg', async (key) => {
    const issuer = await AuthTokens.create(ISSUER, [key.jwk]);
    expect(await issuer.verify(await issuer.mint(login, NOW), CLIENT_ID, NOW)).toEqual(login);
  });

  test('verifies until the second in which it expires', async () => {
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

test('the forge of these tests makes tokens that verify', async () => {
  for (const key of [edwards, curve]) {
    expect(await tokens.verify(forge({ key }), CLIENT_ID, NOW), key.alg).toEqual(login);
  }
});

describe('a token is refused', () => {
  const [header = '', payload = '', signature = ''] = valid.split('.');
  const other = forge({ claims: { sub: randomUUID() } }).split('.');
  const spki = edwards.publicKey.export({ format: 'der', type: 'spki' });
  const pem = edwards.publicKey.export({ format: 'pem', type: 'spki' });
  const raw = Buffer.from(edwards.jwk.x ?? '', 'base64url');

  test.each<[string, string]>([
    ...['none', 'None', 'NONE', 'nOnE', ' none', ''].map((alg): [string, string] => [
      `with the algorithm "${alg}" and no signature`,
      `${encode({ alg, typ: 'login+jwt', kid: edwards.kid })}.${payload}.`,
    ]),
    ['with the algorithm none and a signature', forge({ header: { alg: 'none' } })],
    ['with the algorithm none and no key ID', `${encode({ alg: 'none', typ: 'login+jwt' })}.${payload}.`],
    ['without algorithm', forge({ header: { alg: undefined } })],
    ['with a list of algorithms', forge({ header: { alg: ['EdDSA'] } })],
    ['with HS256 and the public key in PEM as secret', forgeHmac('sha256', 'HS256', pem)],
    ['with HS256 and the public key in DER as secret', forgeHmac('sha256', 'HS256', spki)],
    ['with HS256 and the bytes of the public key as secret', forgeHmac('sha256', 'HS256', raw)],
    [
      'with HS256 and the public JWK as secret',
      forgeHmac('sha256', 'HS256', JSON.stringify(tokens.publicJwks.keys[0])),
    ],
    ['with HS256 and no secret', forgeHmac('sha256', 'HS256', '')],
    ['with HS512 and the public key as secret', forgeHmac('sha512', 'HS512', pem)],
    ...['RS256', 'PS256', 'ES384', 'ES256K', 'Ed25519', 'Ed448', 'eddsa', 'dir'].map((alg): [string, string] => [
      `with the algorithm ${alg}`,
      forge({ header: { alg } }),
    ]),
    ["with another key's algorithm", forge({ header: { alg: 'ES256' } })],

    ['with an empty signature', `${header}.${payload}.`],
    ['with a signature of zeros', `${header}.${payload}.${Buffer.alloc(64).toString('base64url')}`],
    ['with an ES256 signature of zeros', withSignature(forge({ key: curve }), Buffer.alloc(64))],
    ['with an ES256 signature in DER', forgeWithDerSignature()],
    ['with a signature cut short', `${header}.${payload}.${signature.slice(0, 40)}`],
    ['with a signature that goes on', withSignature(valid, Buffer.concat([signatureOf(valid), Buffer.alloc(1)]))],
    ['with a bit of its signature changed', withSignature(valid, withChangedBit(signatureOf(valid)))],
    ["with another token's signature", `${header}.${payload}.${other[2]}`],
    ["with another token's payload", `${header}.${other[1]}.${signature}`],
    ["with the other key's header", `${encode(headerFor(curve))}.${payload}.${signature}`],
    ['with the parts in another order', `${payload}.${header}.${signature}`],
    ['with a claim changed after signing', `${header}.${encode({ ...claims(), sub: randomUUID() })}.${signature}`],
    ['signed with a key that is not ours', forge({ key: foreign })],
    ['signed with our other key', sealWith(curve, headerFor(edwards), claims())],

    ['with a jku header', forge({ header: { jku: 'https://evil.test/jwks.json' } })],
    ['with a jwk header of its own key', forge({ key: foreign, header: { jwk: tokens.publicJwks.keys[0] } })],
    ['with a jwk header', forge({ header: { jwk: foreign.publicKey.export({ format: 'jwk' }) } })],
    ['with an x5u header', forge({ header: { x5u: 'https://evil.test/cert.pem' } })],
    ['with an x5c header', forge({ header: { x5c: [spki.toString('base64')] } })],
    ['with an x5t header', forge({ header: { x5t: 'AAAA' } })],
    ['with an x5t#S256 header', forge({ header: { 'x5t#S256': 'AAAA' } })],
    ['with a critical header', forge({ header: { crit: ['exp'], exp: SECOND + 900 } })],
    ['with an empty list of critical headers', forge({ header: { crit: [] } })],
    ['with b64', forge({ header: { b64: true } })],
    ['with an unencoded payload', forge({ header: { b64: false, crit: ['b64'] } })],
    ['with a cty header', forge({ header: { cty: 'JWT' } })],
    ['with a zip header', forge({ header: { zip: 'DEF' } })],
    ['with an unknown header', forge({ header: { foo: 'bar' } })],
    ['with a header that is null', forge({ header: { jku: null } })],
    ['with an unknown key ID', forge({ header: { kid: 'no-such-key' } })],
    ["with the other key's ID", forge({ header: { kid: curve.kid } })],
    ['with an empty key ID', forge({ header: { kid: '' } })],
    ['with a key ID that is a path', forge({ header: { kid: '../../dev/null' } })],
    ['with a key ID that every object has', forge({ header: { kid: '__proto__' } })],
    ['with a key ID that is no string', forge({ header: { kid: 0 } })],
    ['with a list of key IDs', forge({ header: { kid: [edwards.kid] } })],
    ['without key ID', forge({ header: { kid: undefined } })],
    ['without type', forge({ header: { typ: undefined } })],
    ...['JWT', 'jwt', 'at+jwt', 'login', 'LOGIN+JWT', 'application/login+jwt'].map((typ): [string, string] => [
      `of the type ${typ}`,
      forge({ header: { typ } }),
    ]),

    ...['iss', 'aud', 'sub', 'jti', 'iat', 'exp'].flatMap((name): [string, string][] => [
      [`without ${name}`, forge({ claims: { [name]: undefined } })],
      [`with ${name} null`, forge({ claims: { [name]: null } })],
      [`with an object as ${name}`, forge({ claims: { [name]: {} } })],
      [`with an empty ${name}`, forge({ claims: { [name]: '' } })],
    ]),
    ['of another issuer', forge({ claims: { iss: 'https://evil.test' } })],
    ['of the issuer with a slash', forge({ claims: { iss: `${ISSUER}/` } })],
    ['of several issuers', forge({ claims: { iss: [ISSUER] } })],
    ['for another application', forge({ claims: { aud: 'client_fedcba9876543210fedcba9876543210' } })],
    ['for a list of one application', forge({ claims: { aud: [CLIENT_ID] } })],
    ['for several applications', forge({ claims: { aud: ['client_other', CLIENT_ID] } })],
    ['for an empty list of applications', forge({ claims: { aud: [] } })],
    ['for an application in another case', forge({ claims: { aud: CLIENT_ID.toUpperCase() } })],
    ['for a subject that is a number', forge({ claims: { sub: 7 } })],
    ['for a list of subjects', forge({ claims: { sub: [login.userId] } })],
    ['for a subject that is no UUID', forge({ claims: { sub: 'ada' } })],
    ['for a subject with a line feed', forge({ claims: { sub: `${login.userId}\n` } })],
    ['for a subject in braces', forge({ claims: { sub: `{${login.userId}}` } })],
    ['with a token ID that is no UUID', forge({ claims: { jti: 'x' } })],
    ['with a token ID that is a number', forge({ claims: { jti: 7 } })],

    ['issued a second from now', forge({ claims: lifeFrom(SECOND + 1) })],
    ['issued a minute from now', forge({ claims: lifeFrom(SECOND + 60) })],
    ['issued 900 seconds ago', forge({ claims: lifeFrom(SECOND - 900) })],
    ['issued 901 seconds ago', forge({ claims: lifeFrom(SECOND - 901) })],
    ['issued in 1970', forge({ claims: lifeFrom(0) })],
    ['issued before 1970', forge({ claims: lifeFrom(-900) })],
    ['issued in milliseconds', forge({ claims: lifeFrom(NOW.getTime()) })],
    ['issued within a second', forge({ claims: lifeFrom(SECOND - 0.5) })],
    ['with times in text', forge({ claims: { iat: `${SECOND}`, exp: `${SECOND + 900}` } })],
    ['issued at a time in text', forge({ claims: { iat: `${SECOND}` } })],
    ['with an expiry in text', forge({ claims: { exp: `${SECOND + 900}` } })],
    ['with an expiry beyond all times', forge({ claims: { exp: 1e300 } })],
    ['issued and expiring beyond all times', forge({ claims: { iat: 1e300, exp: 1e300 } })],
    ['with a negative expiry', forge({ claims: { exp: -1 } })],
    ['living 899 seconds', forge({ claims: { exp: SECOND + 899 } })],
    ['living 901 seconds', forge({ claims: { exp: SECOND + 901 } })],
    ['that is old but expires late', forge({ claims: { iat: SECOND - 1_000, exp: SECOND + 900 } })],
    ['not valid before a minute from now', forge({ claims: { nbf: SECOND + 60 } })],

    ['that is empty', ''],
    ['that is a session ID', randomUUID()],
    ['that is dots', '..'],
    ['that is more dots', '...'],
    ['of one part', header],
    ['of two parts', `${header}.${payload}`],
    ['without header', `.${payload}.${signature}`],
    ['without payload', `${header}..${signature}`],
    ['of four parts', `${valid}.${signature}`],
    ['with a dot after it', `${valid}.`],
    ['with a dot before it', `.${valid}`],
    ['of five parts, as an encrypted one', `${valid}.${header}.${payload}`],
    ['in JSON', JSON.stringify({ protected: header, payload, signature })],
    ['with a header that is no JSON', sealText(edwards, 'not JSON', JSON.stringify(claims()))],
    ['with a header that is a list', sealText(edwards, JSON.stringify([headerFor(edwards)]), JSON.stringify(claims()))],
    ['with a header that is null', sealText(edwards, 'null', JSON.stringify(claims()))],
    ['with a payload that is no JSON', sealText(edwards, JSON.stringify(headerFor(edwards)), 'not JSON')],
    ['with a payload that is a list', sealText(edwards, JSON.stringify(headerFor(edwards)), '[]')],
    ['with a payload that is null', sealText(edwards, JSON.stringify(headerFor(edwards)), 'null')],
    ['with a payload that is a token', sealText(edwards, JSON.stringify(headerFor(edwards)), valid)],

    ...[header, payload, signature].flatMap((part, index): [string, string][] => {
      const name = ['header', 'payload', 'signature'][index];
      const respelled = (text: string) => [header, payload, signature].with(index, text).join('.');
      return [
        [`with padding after its ${name}`, respelled(part + '='.repeat((4 - (part.length % 4)) % 4 || 4))],
        [`with a space after its ${name}`, respelled(`${part} `)],
        [`with a line feed in its ${name}`, respelled(`${part.slice(0, 8)}\n${part.slice(8)}`)],
        [`with a character of no alphabet in its ${name}`, respelled(`${part.slice(0, 8)}!${part.slice(8)}`)],
        [`with its ${name} percent-encoded`, respelled(`%${part.charCodeAt(0).toString(16)}${part.slice(1)}`)],
        [`with NUL after its ${name}`, respelled(`${part}\0`)],
      ];
    }),
    ['with the spare bits of its signature set', withSpareBits(valid)],
    ['with the spare bits of its header set', withSpareBitsInHeader()],
    ['with a space before it', ` ${valid}`],
    ['with a tab before it', `\t${valid}`],
    ['with a line break after it', `${valid}\r\n`],
    ['with a byte order mark', `\ufeff${valid}`],
    ['with a scheme', `Bearer ${valid}`],
    ['in quotes', `"${valid}"`],
    ['in upper case', valid.toUpperCase()],
    ['twice', `${valid}${valid}`],
    ['twice with a comma', `${valid},${valid}`],
    ['with a lone surrogate', `${valid}\ud800`],
    ['in the standard alphabet of base64', inStandardAlphabet()],
  ])('%s', async (_, token) => {
    expect(await refusalOf(tokens.verify(token, CLIENT_ID, NOW))).toEqual(REFUSAL);
  });

  test('by any application but its own', async () => {
    for (const clientId of ['client_other', '', CLIENT_ID.toUpperCase()]) {
      expect(await refusalOf(tokens.verify(valid, clientId, NOW)), clientId).toEqual(REFUSAL);
    }
  });

  test('by another issuer with the same keys', async () => {
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

  test('a token of a key that is gone is refused', async () => {
    const rotated = await AuthTokens.create(ISSUER, [curve.jwk]);
    expect(await refusalOf(rotated.verify(valid, CLIENT_ID, NOW))).toEqual(REFUSAL);
  });
});

describe('the published keys', () => {
  test('are the public halves of all keys, in their order', () => {
    const { x, crv, kty } = edwards.jwk;
    expect(tokens.publicJwks).toEqual({
      keys: [
        { kty, crv, x, kid: 'edwards-key', alg: 'EdDSA', use: 'sig' },
        { kty: 'EC', crv: 'P-256', x: curve.jwk.x, y: curve.jwk.y, kid: 'curve-key', alg: 'ES256', use: 'sig' },
      ],
    });
  });

  test('have no private member', () => {
    const published = JSON.stringify(tokens.publicJwks);
    for (const { jwk } of [edwards, curve]) expect(published).not.toContain(jwk.d);
    for (const key of tokens.publicJwks.keys) {
      for (const name of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k', 'oth']) expect(key).not.toHaveProperty(name);
    }
  });
});

describe('keys to sign with', () => {
  test.each<[string, JWK[]]>([
    ['are not none', []],
    ['are not without ID', [withoutMember(edwards.jwk, 'kid')]],
    ['are not without algorithm', [withoutMember(edwards.jwk, 'alg')]],
    ['are not of another algorithm', [{ ...edwards.jwk, alg: 'RS256' }]],
    ['are not symmetric', [{ kty: 'oct', k: 'AAAA', alg: 'HS256', kid: 'x' }]],
    ['do not share an ID, since then not all could verify', [edwards.jwk, { ...curve.jwk, kid: edwards.kid }]],
  ])('%s', async (_title, jwks) => {
    await expect(AuthTokens.create(ISSUER, jwks)).rejects.toThrow(Error);
  });
});

function createKey(alg: Key['alg'], kid: string): Key {
  const { privateKey, publicKey } =
    alg === 'EdDSA' ? generateKeyPairSync('ed25519') : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { kid, alg, privateKey, publicKey, jwk: { ...privateKey.export({ format: 'jwk' }), kid, alg } };
}

function withoutMember(jwk: JWK, name: 'kid' | 'alg'): JWK {
  return Object.fromEntries(Object.entries(jwk).filter(([member]) => member !== name));
}

function headerFor({ alg, kid }: Key): Json {
  return { alg, typ: 'login+jwt', kid };
}

function claims(): Json {
  return { iss: ISSUER, aud: CLIENT_ID, sub: login.userId, jti: login.loginIntentId, ...lifeFrom(SECOND) };
}

function lifeFrom(iat: number): Json {
  return { iat, exp: iat + LIFETIME_SECONDS };
}

/** A token that is valid but for what is given; `undefined` leaves a member out. */
function forge({ key = edwards, header = {}, claims: changed = {} }: { key?: Key; header?: Json; claims?: Json } = {}) {
  return sealWith(key, { ...headerFor(key), ...header }, { ...claims(), ...changed });
}

function sealWith(key: Key, header: Json, payload: Json): string {
  return sealText(key, JSON.stringify(header), JSON.stringify(payload));
}

function sealText({ alg, privateKey }: Key, header: string, payload: string): string {
  const signed = `${Buffer.from(header).toString('base64url')}.${Buffer.from(payload).toString('base64url')}`;
  const signature =
    alg === 'EdDSA'
      ? sign(null, Buffer.from(signed), privateKey)
      : sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}

function forgeWithDerSignature(): string {
  const token = forge({ key: curve });
  return withSignature(token, sign('sha256', Buffer.from(token.slice(0, token.lastIndexOf('.'))), curve.privateKey));
}

function forgeHmac(hash: string, alg: string, secret: string | Buffer): string {
  const signed = `${encode({ ...headerFor(edwards), alg })}.${encode(claims())}`;
  return `${signed}.${createHmac(hash, secret).update(signed).digest('base64url')}`;
}

function encode(json: Json): string {
  return Buffer.from(JSON.stringify(json)).toString('base64url');
}

function signatureOf(token: string): Buffer {
  return Buffer.from(token.split('.')[2] ?? '', 'base64url');
}

function withSignature(token: string, signature: Buffer): string {
  return `${token.slice(0, token.lastIndexOf('.'))}.${signature.toString('base64url')}`;
}

function withChangedBit(bytes: Buffer): Buffer {
  return Buffer.from(bytes.map((byte, index) => (index === 10 ? byte ^ 1 : byte)));
}

/** 64 bytes are 85 characters and a third: the last character has four bits to spare. */
function withSpareBits(token: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return token.slice(0, -1) + alphabet[alphabet.indexOf(token.slice(-1)) + 1];
}

/** Signed over the respelled header, so that its spelling is all that is wrong. */
function withSpareBitsInHeader(): string {
  // A space at the end makes the header a byte longer than a multiple of three.
  let json = JSON.stringify(headerFor(edwards));
  while (Buffer.byteLength(json) % 3 !== 1) json = `${json} `;
  const header = withSpareBits(Buffer.from(json).toString('base64url'));
  const signed = `${header}.${encode(claims())}`;
  return `${signed}.${sign(null, Buffer.from(signed), edwards.privateKey).toString('base64url')}`;
}

/** A valid token whose signature has a character that the two alphabets write differently. */
function inStandardAlphabet(): string {
  for (;;) {
    const token = forge({ claims: { jti: randomUUID() } });
    const respelled = token.replaceAll('-', '+').replaceAll('_', '/');
    if (respelled !== token) return respelled;
  }
}
