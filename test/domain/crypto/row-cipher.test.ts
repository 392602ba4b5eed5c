import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { RowCipher } from '../../../src/domain/crypto/aes-gcm.ts';

const SIGNING_KEY = `whsec_${randomBytes(32).toString('base64')}`;
const row = { applicationId: randomUUID(), id: `wh_${'0'.repeat(32)}` };
const [first, second] = [randomBytes(32), randomBytes(32)];

describe('an encrypted signing key', () => {
  test('decrypts to itself in its own row', () => {
    const cipher = new RowCipher([first]);
    expect(cipher.decrypt(cipher.encrypt(SIGNING_KEY, row), row)).toBe(SIGNING_KEY);
  });

  test('does not contain the plain key', () => {
    const stored = new RowCipher([first]).encrypt(SIGNING_KEY, row).toString('latin1');
    expect(stored).not.toContain('whsec_');
    expect(stored).not.toContain(SIGNING_KEY.slice(10, 18));
  });

  test('differs each time', () => {
    const cipher = new RowCipher([first]);
    const all = Array.from({ length: 100 }, () => cipher.encrypt(SIGNING_KEY, row).toString('hex'));
    expect(new Set(all).size).toBe(100);
  });

  test.each([
    ['another webhook', { ...row, id: `wh_${'0'.repeat(31)}1` }],
    ['another application', { ...row, applicationId: randomUUID() }],
    ['no webhook', { ...row, id: '' }],
    ['the same IDs, split elsewhere', { applicationId: `${row.applicationId}/wh`, id: row.id.slice(3) }],
  ])('does not decrypt in the row of %s', (_, elsewhere) => {
    const cipher = new RowCipher([first]);
    const stored = cipher.encrypt(SIGNING_KEY, row);
    expect(() => cipher.decrypt(stored, elsewhere)).toThrow();
  });

  test('decrypts after a new key has been put before its own', () => {
    const stored = new RowCipher([first]).encrypt(SIGNING_KEY, row);
    expect(new RowCipher([second, first]).decrypt(stored, row)).toBe(SIGNING_KEY);
  });

  test('is encrypted with the first key', () => {
    const stored = new RowCipher([second, first]).encrypt(SIGNING_KEY, row);
    expect(new RowCipher([second]).decrypt(stored, row)).toBe(SIGNING_KEY);
    expect(() => new RowCipher([first]).decrypt(stored, row)).toThrow(
      'A row was encrypted with a key that is not configured',
    );
  });

  test('does not decrypt when any bit has changed', () => {
    const cipher = new RowCipher([first, second]);
    const stored = cipher.encrypt(SIGNING_KEY, row);
    for (let bit = 0; bit < stored.length * 8; bit++) {
      const tampered = Buffer.from(stored);
      tampered[bit >> 3] = (tampered[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(() => cipher.decrypt(tampered, row), `bit ${bit}`).toThrow();
    }
  });

  test('does not decrypt when it has been cut or extended', () => {
    const cipher = new RowCipher([first]);
    const stored = cipher.encrypt(SIGNING_KEY, row);
    for (let length = 0; length < stored.length; length++) {
      expect(() => cipher.decrypt(stored.subarray(0, length), row), `length ${length}`).toThrow();
    }
    expect(() => cipher.decrypt(Buffer.concat([stored, Buffer.of(0)]), row)).toThrow();
  });

  test('is not in the error when it does not decrypt', () => {
    const cipher = new RowCipher([first]);
    const stored = cipher.encrypt(SIGNING_KEY, row);
    const failure = catchError(() => cipher.decrypt(stored, { ...row, id: 'wh_' }));
    expect(JSON.stringify([failure.message, failure.stack])).not.toContain(SIGNING_KEY);
  });
});

test('a cipher without a key cannot be created', () => {
  expect(() => new RowCipher([])).toThrow('There is no key to encrypt rows with');
});

function catchError(act: () => unknown): Error {
  try {
    act();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error('Nothing was thrown');
}
