/** Which public keys of passkeys an import takes. That the right ones verify: test/integration/contract/import-users.test.ts. */
import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { RowCipher } from '../../../../src/domain/crypto/aes-gcm.ts';
import { importLines } from '../../../../src/domain/imports/import-lines.ts';
import { checkUser } from '../../../../src/domain/imports/user-line.ts';
import { openDomain } from '../../../support/domain-scene.ts';

const library = vi.hoisted(() => ({ isLoaded: false }));
vi.mock('@simplewebauthn/server/helpers', async (load) => {
  library.isLoaded = true;
  return load();
});

const { callAt } = await openDomain();

/** Dry-runs the import of a user, with passkeys of these keys. Returns the field that is refused. */
async function importKeys(...keys: Uint8Array[]) {
  const passkeys = keys.map((key) => ({
    ...{ credentialId: randomBytes(16).toString('base64url'), rpId: 'usher.test' },
    publicKey: Buffer.from(key).toString('base64url'),
  }));
  const options = { dryRun: true, onConflict: 'fail', notifies: false, rpId: 'usher.test' } as const;
  const parts = { cipher: new RowCipher([Buffer.alloc(32)]), issuers: new Map(), onSignedOut: () => {} };
  const line = checkUser({ email: 'ada@example.com', passkeys });
  const [result] = await importLines(callAt, [line], { ...options, ...parts });
  return result?.status === 'created' ? 'created' : result?.field;
}

test('an import without passkeys does not load the library that reads them, which takes much memory', async () => {
  expect(await importKeys()).toBe('created');
  expect(library.isLoaded).toBe(false);
  expect(await importKeys(Buffer.of(0xa0))).toBe('passkeys[0].publicKey');
  expect(library.isLoaded).toBe(true);
});

const jwkOf = (key: KeyObject) => key.export({ format: 'jwk' });
const ec = (namedCurve: string) => jwkOf(generateKeyPairSync('ec', { namedCurve }).publicKey);
const [p256, p384, p521] = [ec('P-256'), ec('P-384'), ec('P-521')];
const ed25519 = jwkOf(generateKeyPairSync('ed25519').publicKey);
const x25519 = jwkOf(generateKeyPairSync('x25519').publicKey);
const rsa = jwkOf(generateKeyPairSync('rsa', { modulusLength: 2_048 }).publicKey);
const bytes = (text = '') => new Uint8Array(Buffer.from(text, 'base64url'));
const [OKP, EC2, RSA] = [1, 2, 3];

/** What a key says of itself: its type, its algorithm, and what these have. */
const LABELS = [1, 3, -1, -2, -3];
const P256 = [bytes(p256.x), bytes(p256.y)];
const ED25519 = bytes(ed25519.x);

test.each<[string, key: unknown[], isRight: boolean]>([
  ['P-256', [EC2, -7, 1, ...P256], true],
  ['P-384', [EC2, -35, 2, bytes(p384.x), bytes(p384.y)], true],
  ['P-521', [EC2, -36, 3, bytes(p521.x), bytes(p521.y)], true],
  ['Ed25519', [OKP, -8, 6, ED25519], true],
  ['RSA', [RSA, -257, bytes(rsa.n), bytes(rsa.e)], true],
  ['P-256 with an algorithm of RSA', [EC2, -257, 1, ...P256], false],
  ['P-256 with an unknown algorithm', [EC2, -9, 1, ...P256], false],
  ['P-256 of an unknown type', [4, -7, 1, ...P256], false],
  ['P-256 of the type of Ed25519', [OKP, -8, 1, ...P256], false],
  ['Ed25519 of the type of P-256', [EC2, -7, 6, ED25519, ED25519], false],
  ['P-256 without y', [EC2, -7, 1, bytes(p256.x)], false],
  ['P-256 that is said to be P-384', [EC2, -35, 2, ...P256], false],
  ['an unknown curve', [EC2, -7, 9, ...P256], false],
  ['X25519', [OKP, -8, 4, bytes(x25519.x)], false],
  ['Ed25519 in letters', [OKP, -8, 6, 'x'.repeat(32)], false],
  ['RSA without a modulus', [RSA, -257, bytes(), bytes(rsa.e)], false],
  ['RSA without an exponent', [RSA, -257, bytes(rsa.n), bytes()], false],
])('%s', async (_, key, isRight) => {
  const { isoCBOR } = await import('@simplewebauthn/server/helpers');
  const encode = (values: unknown[]) =>
    isoCBOR.encode(new Map(values.map((value, at) => [LABELS[at], value])) as never);
  expect(await importKeys(encode([OKP, -8, 6, ED25519]), encode(key))).toBe(
    isRight ? 'created' : 'passkeys[1].publicKey',
  );
});
