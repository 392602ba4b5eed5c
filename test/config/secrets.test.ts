import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JWK } from 'jose';
import { describe, expect, test } from 'vitest';
import { completeSecrets, parseAuthSigningKeys, parseEncryptionKeys } from '../../src/config/secrets.ts';

const edwards = jwkOf(generateKeyPairSync('ed25519').privateKey, 'edwards');
const curve = jwkOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey, 'curve');
const rsa = jwkOf(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey, 'rsa');

const NO_SET = 'must hold a JWK Set with at least one key';
const NOT_PRIVATE = 'must hold private keys only, each a valid JWK';
const OTHER_KIND = 'must hold Ed25519 (EdDSA) or P-256 (ES256) keys';

describe('signing keys', () => {
  test('of both kinds are taken in their order, each with its algorithm', () => {
    const keys = [
      { ...curve, kid: 'a' },
      { ...edwards, kid: 'b', use: 'sig' },
    ];
    expect(parseAuthSigningKeys(setOf(...keys))).toEqual([
      { ...curve, kid: 'a', alg: 'ES256' },
      { ...edwards, kid: 'b', use: 'sig', alg: 'EdDSA' },
    ]);
  });

  test('may name their algorithm', () => {
    const key = { ...edwards, kid: 'a', alg: 'EdDSA' };
    expect(parseAuthSigningKeys(setOf(key))).toEqual([key]);
  });

  test.each<[string, string, string]>([
    ['nothing', '', NO_SET],
    ['no JSON', '{', NO_SET],
    ['null', 'null', NO_SET],
    ['a string', '"keys"', NO_SET],
    ['no set', JSON.stringify(edwards), NO_SET],
    ['a list without set', JSON.stringify([edwards]), NO_SET],
    ['an empty set', '{"keys":[]}', NO_SET],
    ['a set that is no list', '{"keys":{}}', NO_SET],
    ['a public key', setOf({ ...edwards, d: undefined }), NOT_PRIVATE],
    ['a private and a public key', setOf(edwards, { ...curve, d: undefined }), NOT_PRIVATE],
    ['a symmetric key', setOf({ kty: 'oct', k: 'AAAA', alg: 'HS256', kid: 'oct' }), NOT_PRIVATE],
    ['a key whose private half is too short', setOf({ ...edwards, d: 'AAAA' }), NOT_PRIVATE],
    ['an RSA key', setOf(rsa), OTHER_KIND],
    ['a P-384 key', setOf(jwkOf(generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey, 'p384')), OTHER_KIND],
    ['an X25519 key', setOf(jwkOf(generateKeyPairSync('x25519').privateKey, 'x25519')), OTHER_KIND],
    ['an Ed25519 key for another algorithm', setOf({ ...edwards, alg: 'ES256' }), OTHER_KIND],
    ['a P-256 key for another algorithm', setOf({ ...curve, alg: 'ES384' }), OTHER_KIND],
  ])('are not %s', (_, text, problem) => {
    expect(() => parseAuthSigningKeys(text)).toThrow(new Error(problem));
  });

  test.each([
    ['without an ID', setOf({ ...edwards, kid: undefined })],
    ['with an empty ID', setOf({ ...edwards, kid: '' })],
    ['with an ID that is no text', JSON.stringify({ keys: [{ ...edwards, kid: 7 }] })],
    ['that share an ID', setOf({ ...edwards, kid: 'a' }, { ...curve, kid: 'a' })],
    ['that are null', '{"keys":[null]}'],
    ['that are text', '{"keys":["x"]}'],
  ])('%s are refused, since tokens name them by it', (_, text) => {
    expect(() => parseAuthSigningKeys(text)).toThrow(/^must hold /);
  });
});

describe('encryption keys', () => {
  const [first, second] = [randomBytes(32), randomBytes(32)];

  test.each([
    ['one line', first.toString('base64'), [first]],
    ['a line that ends', `${first.toString('base64')}\n`, [first]],
    ['several lines', `${first.toString('base64')}\n${second.toString('base64')}\n`, [first, second]],
    ['empty lines and Windows line ends', `\r\n${first.toString('base64')}\r\n\r\n`, [first]],
  ])('are taken from %s', (_, text, keys) => {
    expect(parseEncryptionKeys(text)).toEqual(keys);
  });

  test.each([
    ['nothing', ''],
    ['empty lines', '\n\n'],
    ['31 bytes', Buffer.alloc(31).toString('base64')],
    ['33 bytes', Buffer.alloc(33).toString('base64')],
    ['32 bytes in hexadecimal', first.toString('hex')],
    ['two keys on one line', first.toString('base64') + second.toString('base64')],
    ['a good line and a bad one', `${first.toString('base64')}\nx`],
    ['a good line and a comment', `# encryption key\n${first.toString('base64')}`],
    ['something after the key', `${first.toString('base64')}#comment`],
  ])('are not %s', (_, text) => {
    expect(() => parseEncryptionKeys(text)).toThrow(new Error('must hold 32 bytes in base64 on each line'));
  });
});

describe('secrets that are not given', () => {
  test('are generated, and kept in files that others cannot read', async () => {
    await using directory = await createDirectory();
    const secrets = await completeSecrets({}, directory.path);
    expect(secrets.adminKey).toMatch(/^[\w-]{43}$/);
    expect(secrets.authSigningKeys).toHaveLength(1);
    expect(secrets.authSigningKeys[0]).toMatchObject({ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA' });
    expect(secrets.encryptionKeys.map((key) => key.length)).toEqual([32]);
    expect((await readdir(directory.path)).sort()).toEqual(['admin-key', 'auth-signing-keys.json', 'encryption-key']);
    for (const name of await readdir(directory.path)) {
      expect((await stat(join(directory.path, name))).mode & 0o777, name).toBe(0o600);
    }
  });

  test('are the same the next time', async () => {
    await using directory = await createDirectory();
    expect(await completeSecrets({}, directory.path)).toEqual(await completeSecrets({}, directory.path));
  });

  test('are others elsewhere', async () => {
    await using one = await createDirectory();
    await using other = await createDirectory();
    const [first, second] = [await completeSecrets({}, one.path), await completeSecrets({}, other.path)];
    expect(first.adminKey).not.toBe(second.adminKey);
    expect(first.authSigningKeys[0]?.d).not.toBe(second.authSigningKeys[0]?.d);
    expect(first.encryptionKeys).not.toEqual(second.encryptionKeys);
  });

  test('are the same for all who ask at once', async () => {
    for (let round = 0; round < 20; round++) {
      await using directory = await createDirectory();
      const all = await Promise.all(Array.from({ length: 8 }, () => completeSecrets({}, directory.path)));
      for (const secrets of all) expect(secrets).toEqual(all[0]);
    }
  });

  test('make the directory, which others cannot enter', async () => {
    await using parent = await createDirectory();
    const directory = join(parent.path, 'a', 'b');
    await completeSecrets({}, directory);
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
  });
});

describe('a secret that is given', () => {
  test('is taken, and the others are generated', async () => {
    await using directory = await createDirectory();
    const authSigningKeys = [{ ...edwards, kid: 'given', alg: 'EdDSA' }];
    const secrets = await completeSecrets({ adminKey: 'given', authSigningKeys }, directory.path);
    expect(secrets).toMatchObject({ adminKey: 'given', authSigningKeys });
    expect(await readdir(directory.path)).toEqual(['encryption-key']);
  });

  test('does not replace the one that is kept', async () => {
    await using directory = await createDirectory();
    const kept = await completeSecrets({}, directory.path);
    const { adminKey } = await completeSecrets({ adminKey: 'given' }, directory.path);
    expect(adminKey).toBe('given');
    expect(await completeSecrets({}, directory.path)).toEqual(kept);
  });
});

describe('a kept secret that is damaged', () => {
  test.each([
    ['auth-signing-keys.json', '{}'],
    ['auth-signing-keys.json', ''],
    ['encryption-key', 'AAAA'],
    ['encryption-key', ''],
    ['admin-key', ''],
    ['admin-key', '\n'],
    ['admin-key', 'short'],
  ])('is an error and not replaced: %s with %j', async (name, content) => {
    await using directory = await createDirectory();
    const file = join(directory.path, name);
    await writeFile(file, content);
    await expect(completeSecrets({}, directory.path)).rejects.toThrow(Error);
    expect(await readFile(file, 'utf8')).toBe(content);
  });
});

function jwkOf(key: KeyObject, kid: string): JWK {
  return { ...key.export({ format: 'jwk' }), kid };
}

function setOf(...keys: readonly Record<string, unknown>[]): string {
  return JSON.stringify({ keys });
}

async function createDirectory() {
  const path = await mkdtemp(join(tmpdir(), 'usher-secrets-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}
