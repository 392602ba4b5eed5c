/** What a line of an import may have, at the limits. */
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../../src/domain/core/errors.ts';
import { uniqueKeysOf } from '../../../src/domain/imports/known.ts';
import { anyUser, checkUser, findUnknownField } from '../../../src/domain/imports/user-line.ts';

const EMAIL = { email: 'ada@example.com' };
const ID = '00000000-0000-4000-8000-000000000000';
const PASSKEY = { credentialId: 'AQID', publicKey: 'AQID', rpId: 'usher.test' };
const bytesOf = (length: number) => Buffer.alloc(length, 1).toString('base64url');
const listOf = <Value>(count: number, value: Value) => Array.from({ length: count }, () => value);
const passkey = (fields: object) => ({ passkeys: [{ ...PASSKEY, ...fields }] });

/** Returns the fields that are refused, or why it is no line. */
function listRefused(value: unknown): readonly string[] {
  try {
    checkUser(value);
    return [];
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error.violations.map(({ field }) => field);
  }
}

describe('the limit of', () => {
  test.each<[string, most: number, toFields: (count: number) => object]>([
    ['groups', 100, (count) => ({ groups: listOf(count, 'g') })],
    ['groups', 63, (length) => ({ groups: ['g'.repeat(length)] })],
    ['applications', 100, (count) => ({ applications: listOf(count, ID) })],
    ['identities', 20, (count) => ({ identities: listOf(count, { provider: 'p', subject: 's' }) })],
    ['identities', 64, (length) => ({ identities: [{ provider: 'p'.repeat(length), subject: 's' }] })],
    ['identities', 255, (length) => ({ identities: [{ provider: 'p', subject: 's'.repeat(length) }] })],
    ['passkeys', 10, (count) => ({ passkeys: listOf(count, PASSKEY) })],
    ['passkeys', 1_023, (length) => passkey({ credentialId: bytesOf(length) })],
    ['passkeys', 2_048, (length) => passkey({ publicKey: bytesOf(length) })],
    ['passkeys', 255, (length) => passkey({ rpId: 'r'.repeat(length) })],
    ['passkeys', 4_294_967_295, (signCount) => passkey({ signCount })],
    ['passkeys', 10, (count) => passkey({ transports: listOf(count, 'usb') })],
    ['passkeys', 32, (length) => passkey({ transports: ['t'.repeat(length)] })],
    ['totpSecret', 103, (length) => ({ totpSecret: 'A'.repeat(length) })],
  ])('%s is %d', (field, most, toFields) => {
    expect(listRefused({ ...EMAIL, ...toFields(most) })).toEqual([]);
    expect(listRefused({ ...EMAIL, ...toFields(most + 1) }).join()).toContain(field);
  });
});

test.each<[object, refused: string]>([
  [{ totpSecret: 'A'.repeat(15) }, 'totpSecret'],
  [{ totpSecret: `1${'A'.repeat(16)}` }, 'totpSecret'],
  [passkey({ signCount: -1 }), 'passkeys[0].signCount'],
  [passkey({ credentialId: 'AQI=' }), 'passkeys[0].credentialId'],
  [passkey({ credentialId: '' }), 'passkeys[0].credentialId'],
  [passkey({ backupEligible: 'no' }), 'passkeys[0].backupEligible'],
])('%j is refused', (fields, refused) => {
  expect(listRefused({ ...EMAIL, ...fields })).toEqual([refused]);
});

test.each([null, 1, 'ada', [EMAIL]])('%j is no line', (value) => {
  expect(listRefused(value)).toEqual(['']);
});

test('a line has its defaults, and knows what it was given', () => {
  const { given, ...line } = checkUser({ ...EMAIL, ...passkey({}), totpSecret: 'a'.repeat(16), name: undefined });
  expect([...given]).toEqual(['email', 'passkeys', 'totpSecret']);
  expect(line).toEqual({
    ...{ ...EMAIL, id: null, name: null, profileImage: null, walletAddress: '', externalId: null, attributes: null },
    ...{ emailVerified: false, createdAt: null, isActive: true, groups: [], applications: [], identities: [] },
    ...{ totpSecret: 'A'.repeat(16), hasSecondFactor: false },
    passkeys: [
      {
        ...{ credentialId: Buffer.of(1, 2, 3), publicKey: Buffer.of(1, 2, 3), rpId: 'usher.test', signCount: 0 },
        ...{ transports: [], name: 'Passkey', aaguid: '00000000-0000-0000-0000-000000000000' },
        ...{ backupEligible: false, backedUp: false, userVerified: false },
      },
    ],
  });
});

test('lists may be empty, and a signature count zero', () => {
  const line = { ...EMAIL, groups: [], applications: [], identities: [], passkeys: [] };
  expect(listRefused(line)).toEqual([]);
  expect(listRefused({ ...EMAIL, ...passkey({ transports: [], signCount: 0 }) })).toEqual([]);
  expect(anyUser.schema.properties?.totpSecret?.maxLength).toBe(103);
});

test('a line has the keys that belong to one user alone', () => {
  const keysOf = (fields: object) =>
    uniqueKeysOf(checkUser({ ...EMAIL, ...fields }), new Map([['p', 'https://p.test']]));
  expect(keysOf({})).toEqual(['email ada@example.com']);
  const wallet = `0x${'aB'.repeat(20)}`;
  const identities = [
    { provider: 'p', subject: 's' },
    { provider: 'unknown', subject: 's' },
  ];
  expect(keysOf({ id: ID, externalId: 'e', walletAddress: wallet, identities, ...passkey({}) })).toEqual([
    ...[`id ${ID}`, 'externalId e', 'email ada@example.com', `walletAddress ${wallet.toLowerCase()}`],
    ...['identity https://p.test s', 'identity  s', 'passkey 010203'],
  ]);
});

test('a field that no line has is found', () => {
  expect(findUnknownField({ ...EMAIL, mail: 1, toString: 1 })).toBe('mail');
  expect(findUnknownField({ ...EMAIL, toString: 1 })).toBe('toString');
  expect(findUnknownField(EMAIL)).toBeUndefined();
});
