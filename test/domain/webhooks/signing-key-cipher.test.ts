import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { SigningKeyCipher } from '../../../src/domain/webhooks/signing-key-cipher.ts';

const SIGNING_KEY = `whsec_${randomBytes(32).toString('base64')}`;
const place = { applicationId: randomUUID(), webhookId: `wh_${'0'.repeat(32)}` };
const [first, second] = [randomBytes(32), randomBytes(32)];

describe('an encrypted signing key', () => {
  test('decrypts to itself in its own row', () => {
    const cipher = new SigningKeyCipher([first]);
    expect(cipher.decrypt(cipher.encrypt(SIGNING_KEY, place), place)).toBe(SIGNING_KEY);
  });

  test('holds nothing of the plain one', () => {
    const stored = new SigningKeyCipher([first]).encrypt(SIGNING_KEY, place).toString('latin1');
    expect(stored).not.toContain('whsec_');
    expect(stored).not.toContain(SIGNING_KEY.slice(10, 18));
  });

  test('is another each time', () => {
    const cipher = new SigningKeyCipher([first]);
    const all = Array.from({ length: 100 }, () => cipher.encrypt(SIGNING_KEY, place).toString('hex'));
    expect(new Set(all).size).toBe(100);
  });

  test.each([
    ['another webhook', { ...place, webhookId: `wh_${'0'.repeat(31)}1` }],
    ['another application', { ...place, applicationId: randomUUID() }],
    ['no webhook', { ...place, webhookId: '' }],
    ['IDs cut elsewhere', { applicationId: `${place.applicationId}/wh`, webhookId: place.webhookId.slice(3) }],
  ])('does not decrypt in the row of %s', (_, elsewhere) => {
    const cipher = new SigningKeyCipher([first]);
    const stored = cipher.encrypt(SIGNING_KEY, place);
    expect(() => cipher.decrypt(stored, elsewhere)).toThrow();
  });

  test('decrypts after a new key has come before its own', () => {
    const stored = new SigningKeyCipher([first]).encrypt(SIGNING_KEY, place);
    expect(new SigningKeyCipher([second, first]).decrypt(stored, place)).toBe(SIGNING_KEY);
  });

  test('is encrypted with the first key', () => {
    const stored = new SigningKeyCipher([second, first]).encrypt(SIGNING_KEY, place);
    expect(new SigningKeyCipher([second]).decrypt(stored, place)).toBe(SIGNING_KEY);
    expect(() => new SigningKeyCipher([first]).decrypt(stored, place)).toThrow(
      'A webhook signing key was encrypted with a key that is not configured',
    );
  });

  test('does not decrypt when a bit of it has changed', () => {
    const cipher = new SigningKeyCipher([first, second]);
    const stored = cipher.encrypt(SIGNING_KEY, place);
    for (let bit = 0; bit < stored.length * 8; bit++) {
      const tampered = Buffer.from(stored);
      tampered[bit >> 3] = (tampered[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(() => cipher.decrypt(tampered, place), `bit ${bit}`).toThrow();
    }
  });

  test('does not decrypt when it has been cut off or extended', () => {
    const cipher = new SigningKeyCipher([first]);
    const stored = cipher.encrypt(SIGNING_KEY, place);
    for (let length = 0; length < stored.length; length++) {
      expect(() => cipher.decrypt(stored.subarray(0, length), place), `length ${length}`).toThrow();
    }
    expect(() => cipher.decrypt(Buffer.concat([stored, Buffer.of(0)]), place)).toThrow();
  });

  test('does not give away in the error what it holds', () => {
    const cipher = new SigningKeyCipher([first]);
    const stored = cipher.encrypt(SIGNING_KEY, place);
    const failure = catchError(() => cipher.decrypt(stored, { ...place, webhookId: 'wh_' }));
    expect(JSON.stringify([failure.message, failure.stack])).not.toContain(SIGNING_KEY);
  });
});

test('there is no cipher without a key', () => {
  expect(() => new SigningKeyCipher([])).toThrow('There is no key to encrypt webhook signing keys with');
});

function catchError(act: () => unknown): Error {
  try {
    act();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error('Nothing was thrown');
}
