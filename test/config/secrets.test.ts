import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JWK } from 'jose';
import { describe, expect, test } from 'vitest';
import { parseAdminKeys } from '../../src/config/admin-rights.ts';
import { completeSecrets, parseEncryptionKeys } from '../../src/config/secrets.ts';
import { parseAuthSigningKeys, parseOidcSigningKeys } from '../../src/config/signing-keys.ts';
import { createDirectory } from '../support/directory.ts';

const ed25519 = jwkOf(generateKeyPairSync('ed25519').privateKey, 'ed25519');
const p256 = jwkOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey, 'p256');
const rsa = jwkOf(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey, 'rsa');
const p384 = jwkOf(generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey, 'p384');

const NO_SET = 'must hold a JWK Set with at least one key';
const NOT_PRIVATE = 'must hold private keys only, each a valid JWK';
const OTHER_KIND = 'must hold Ed25519 (EdDSA) or P-256 (ES256) keys';
const OWN_ID = 'must give each key a different kid';

describe('signing keys', () => {
  test('keep their order and get their algorithm', () => {
    expect(parseAuthSigningKeys(setOf(p256, { ...ed25519, use: 'sig', alg: 'EdDSA' }))).toEqual([
      { ...p256, alg: 'ES256' },
      { ...ed25519, use: 'sig', alg: 'EdDSA' },
    ]);
  });

  test.each<[string, string, string]>([
    ['an empty file', '', NO_SET],
    ['broken JSON', '{', NO_SET],
    ['null', 'null', NO_SET],
    ['a key without a set', JSON.stringify(ed25519), NO_SET],
    ['an empty set', '{"keys":[]}', NO_SET],
    ['a set that is not a list', '{"keys":{}}', NO_SET],
    ['a private and a public key', setOf(ed25519, { ...p256, d: undefined }), NOT_PRIVATE],
    ['a symmetric key', setOf({ kty: 'oct', k: 'AAAA', alg: 'HS256', kid: 'oct' }), NOT_PRIVATE],
    ['a key with a truncated private part', setOf({ ...ed25519, d: 'AAAA' }), NOT_PRIVATE],
    ['an RSA key', setOf(rsa), OTHER_KIND],
    ['a P-384 key', setOf(p384), OTHER_KIND],
    ['an Ed25519 key for another algorithm', setOf({ ...ed25519, alg: 'ES256' }), OTHER_KIND],
    ['a key without an ID', setOf({ ...ed25519, kid: undefined }), OWN_ID],
    ['a key with an empty ID', setOf({ ...ed25519, kid: '' }), OWN_ID],
    ['a key whose ID is a number', JSON.stringify({ keys: [{ ...ed25519, kid: 7 }] }), OWN_ID],
    ['two keys with one ID', setOf({ ...ed25519, kid: 'a' }, { ...p256, kid: 'a' }), OWN_ID],
    ['a key that is null', '{"keys":[null]}', OWN_ID],
  ])('are refused from %s', (_, text, problem) => {
    expect(() => parseAuthSigningKeys(text)).toThrow(new Error(problem));
  });
});

describe('signing keys of OpenID Connect', () => {
  const TOO_WEAK = 'must hold RSA keys (RS256) of 2048 bits or more';

  test('keep their order and get their algorithm', () => {
    expect(parseOidcSigningKeys(setOf({ ...rsa, kid: 'b', alg: 'RS256' }, rsa))).toEqual([
      { ...rsa, kid: 'b', alg: 'RS256' },
      { ...rsa, alg: 'RS256' },
    ]);
  });

  test.each<[string, string, string]>([
    ['an empty set', '{"keys":[]}', NO_SET],
    [
      'an RSA key of 1024 bits',
      setOf(jwkOf(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey, 'a')),
      TOO_WEAK,
    ],
    ['an Ed25519 key', setOf(rsa, ed25519), TOO_WEAK],
    ['a P-256 key', setOf(p256), TOO_WEAK],
    ['an RSA key for another algorithm', setOf({ ...rsa, alg: 'PS256' }), TOO_WEAK],
    ['a public key', setOf({ kty: rsa.kty, n: rsa.n, e: rsa.e, kid: 'a' }), NOT_PRIVATE],
    ['two keys with one ID', setOf(rsa, rsa), OWN_ID],
  ])('are refused from %s', (_, text, problem) => {
    expect(() => parseOidcSigningKeys(text)).toThrow(new Error(problem));
  });
});

describe('encryption keys', () => {
  const [first, second] = [randomBytes(32), randomBytes(32)];

  test.each([
    ['one line', first.toString('base64'), [first]],
    ['several lines', `${first.toString('base64')}\n${second.toString('base64')}\n`, [first, second]],
    ['empty lines and Windows line ends', `\r\n${first.toString('base64')}\r\n\r\n`, [first]],
  ])('are read from %s', (_, text, keys) => {
    expect(parseEncryptionKeys(text)).toEqual(keys);
  });

  test.each([
    ['empty lines', '\n\n'],
    ['31 bytes', Buffer.alloc(31).toString('base64')],
    ['33 bytes', Buffer.alloc(33).toString('base64')],
    ['hexadecimal', first.toString('hex')],
    ['two keys on one line', first.toString('base64') + second.toString('base64')],
    ['a valid and an invalid line', `${first.toString('base64')}\nx`],
    ['a key with a comment', `${first.toString('base64')}#comment`],
  ])('are refused from %s', (_, text) => {
    expect(() => parseEncryptionKeys(text)).toThrow(new Error('must hold 32 bytes in base64 on each line'));
  });
});

describe('named admin keys', () => {
  const [key, another] = ['k'.repeat(32), `${'K'.repeat(31)}:`];

  test('are read from their lines', () => {
    expect(parseAdminKeys(`\nada:${key}\r\n  deploy-2.eu:${another}  \n\n`)).toEqual([
      { name: 'ada', key },
      { name: 'deploy-2.eu', key: another },
    ]);
  });

  test.each([
    ['login-page', ['login-page']],
    ['support,read', ['support', 'read']],
    [' support , applications ', ['support', 'applications']],
    ['all', ['all']],
  ])('may have the rights %j', (list, rights) => {
    expect(parseAdminKeys(`ada:${key}:${list}\ngrace:${another}:x:read\n`)).toEqual([
      { name: 'ada', key, rights },
      { name: 'grace', key: `${another}:x`, rights: ['read'] },
    ]);
  });

  test.each(['', 'Read', 'login_page', 'read;support', 'read+support', 'read,', 'write', 'all:all:x'])(
    'are refused with the right %j, which the message does not repeat',
    (list) => {
      const problem =
        'line 3 must end with rights, comma-separated, each one of login-page, support, recover, read, applications, all';
      expect(() => parseAdminKeys(`\nada:${key}\ngrace:${key}x:${list}\n`)).toThrow(new Error(problem));
    },
  );

  test('may end with a colon and a word that is no right', () => {
    const keys = [
      `${'k'.repeat(31)}+all/`,
      `${'k'.repeat(31)}:x`,
      `${'k'.repeat(20)}:${'k'.repeat(20)}`,
      `${'k'.repeat(31)}:write-only`,
    ];
    expect(parseAdminKeys(keys.map((each, index) => `ada-${index}:${each}\n`).join(''))).toEqual(
      keys.map((each, index) => ({ name: `ada-${index}`, key: each })),
    );
  });

  test.each(['read', 'login-page', 'support,read', ' support , applications ', 'all'])(
    'are refused if the key before the rights %j is too short',
    (list) => {
      expect(() => parseAdminKeys(`ada:${key.slice(1)}:${list}\n`)).toThrow(new Error(NO_LINE));
      expect(() => parseAdminKeys(`ada:${list}\n`)).toThrow(new Error(NO_LINE));
    },
  );

  test.each(['Read', 'raed', 'reads', 'login_page', 'read;support', 'read,write', 'read+support', 'read # ada', 'ALL'])(
    'are refused if %j, after a key that is too short, is a misspelt list of rights',
    (list) => {
      expect(() => parseAdminKeys(`ada:${key.slice(1)}:${list}\n`)).toThrow(/^line 1 must end with rights/);
    },
  );

  const [NO_LINE, NO_NAME] = [
    'must hold a line name:key for each key, with at least 32 characters in the key',
    'must hold different names, none of them admin',
  ];
  test.each([
    ['no line', '\n', NO_LINE],
    ['a key without a name', key, NO_LINE],
    ['an empty name', `:${key}`, NO_LINE],
    ['a name with a space', `a da:${key}`, NO_LINE],
    ['a short key', `ada:${key.slice(1)}`, NO_LINE],
    ['a short key with white space', `ada:${key.slice(1)} `, NO_LINE],
    ['a name given twice', `ada:${key}\nada:${another}`, NO_NAME],
    ['the name of ADMIN_KEY', `admin:${key}`, NO_NAME],
    ['a key given twice', `ada:${key}\ngrace:${key} `, 'must hold different keys'],
  ])('are refused from %s', (_, text, problem) => {
    expect(() => parseAdminKeys(`${text}\n`)).toThrow(new Error(problem));
  });

  test('are refused from a file that was cut before the rights', () => {
    expect(() => parseAdminKeys(`ada:${key}`)).toThrow('must end with a line end: its last line may be incomplete');
  });
});

describe('missing secrets', () => {
  test('are generated into files and a directory that only their owner may read', async () => {
    const parent = await createDirectory();
    const directory = join(parent, 'a', 'b');
    const secrets = await completeSecrets({}, directory);
    expect(secrets.adminKey).toMatch(/^[\w-]{43}$/);
    expect(secrets.authSigningKeys).toMatchObject([{ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA' }]);
    expect(secrets.oidcSigningKeys).toMatchObject([{ kty: 'RSA', alg: 'RS256' }]);
    expect(secrets.encryptionKeys.map((key) => key.length)).toEqual([32]);
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    expect((await readdir(directory)).sort()).toEqual([
      'admin-key',
      'auth-signing-keys.json',
      'encryption-key',
      'oidc-signing-keys.json',
    ]);
    for (const name of await readdir(directory)) {
      expect((await stat(join(directory, name))).mode & 0o777, name).toBe(0o600);
    }
  });

  test('differ between directories and stay the same in one', async () => {
    const one = await createDirectory();
    const other = await createDirectory();
    const first = await completeSecrets({}, one);
    expect(await completeSecrets({}, one)).toEqual(first);
    const second = await completeSecrets({}, other);
    expect(second.adminKey).not.toBe(first.adminKey);
    expect(second.authSigningKeys[0]?.d).not.toBe(first.authSigningKeys[0]?.d);
    expect(second.encryptionKeys).not.toEqual(first.encryptionKeys);
  });

  test('are the same for concurrent callers', async () => {
    // A key of RSA takes tenths of a second.
    const given = { oidcSigningKeys: [] };
    for (let round = 0; round < 20; round++) {
      const directory = await createDirectory();
      const all = await Promise.all(Array.from({ length: 8 }, () => completeSecrets(given, directory)));
      for (const secrets of all) expect(secrets).toEqual(all[0]);
    }
  });

  test('are generated beside given ones, which replace nothing', async () => {
    const directory = await createDirectory();
    const authSigningKeys = [{ ...ed25519, alg: 'EdDSA' }];
    const given = { adminKey: 'given', authSigningKeys };
    expect(await completeSecrets(given, directory)).toMatchObject(given);
    expect((await readdir(directory)).sort()).toEqual(['encryption-key', 'oidc-signing-keys.json']);
    const stored = await completeSecrets({}, directory);
    await completeSecrets({ ...given, encryptionKeys: [randomBytes(32)] }, directory);
    expect(await completeSecrets({}, directory)).toEqual(stored);
  });

  test.each([
    ['auth-signing-keys.json', '{}'],
    ['oidc-signing-keys.json', '{}'],
    ['encryption-key', 'AAAA'],
    ['encryption-key', ''],
    ['admin-key', '\n'],
    ['admin-key', 'short'],
  ])('are an error when %s holds %j', async (name, content) => {
    const directory = await createDirectory();
    const file = join(directory, name);
    await writeFile(file, content);
    await expect(completeSecrets({}, directory)).rejects.toThrow(`${file} must`);
    expect(await readFile(file, 'utf8')).toBe(content);
  });
});

function jwkOf(key: KeyObject, kid: string): JWK {
  return { ...key.export({ format: 'jwk' }), kid };
}

function setOf(...keys: readonly Record<string, unknown>[]): string {
  return JSON.stringify({ keys });
}

test.each(['admin-key', 'auth-signing-keys.json', 'oidc-signing-keys.json', 'encryption-key'])(
  'a damaged %s is named, with its cure, and is left as it is',
  async (name) => {
    const directory = await createDirectory();
    const file = join(directory, name);
    await writeFile(file, 'x');
    await expect(completeSecrets({}, directory)).rejects.toThrow(new RegExp(`^${file} must .*\\. Restore it`));
    expect(await readFile(file, 'utf8')).toBe('x');
  },
);
