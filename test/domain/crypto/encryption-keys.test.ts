/** What is derived from keys, and stays so. */
import { describe, expect, test } from 'vitest';
import { openToken, RowCipher, sealToken } from '../../../src/domain/crypto/aes-gcm.ts';
import { deriveKeys, hmac } from '../../../src/domain/crypto/derived-keys.ts';
import { EncryptionKeys } from '../../../src/domain/crypto/encryption-keys.ts';

const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const ROW = { applicationId: 'a', id: 'b' };

test('what was stored once is decrypted for ever', () => {
  const stored = Buffer.from('72cd6e84a58e09f2c4212f5d748a396bdb1afb1bc04a5c2656902c4524d8719006c9ccd3a1d6', 'hex');
  expect(new RowCipher([OLD]).decrypt(stored, ROW)).toBe('secret');
  expect(new RowCipher([OLD]).keyIds).toEqual(['72cd6e84']);
});

describe('keys that are replaced', () => {
  test('are those of a cipher that took them before', () => {
    const keys = new EncryptionKeys(OLD);
    const cipher = new RowCipher(keys);
    const stored = cipher.encrypt('secret', ROW);
    keys.replace([NEW, OLD]);
    expect(cipher.decrypt(stored, ROW)).toBe('secret');
    expect(new RowCipher([NEW]).decrypt(cipher.encrypt('new', ROW), ROW)).toBe('new');
    keys.replace([NEW]);
    expect(() => cipher.decrypt(stored, ROW)).toThrow('not configured');
  });

  test('are those of tokens', () => {
    const keys = new EncryptionKeys(OLD);
    const derived = deriveKeys(keys, 'test');
    const token = sealToken(derived, 'text', 'aad');
    keys.replace([NEW, OLD]);
    expect(openToken(derived, token, 'aad')).toBe('text');
    expect(openToken(deriveKeys([NEW], 'test'), sealToken(derived, 'text', 'aad'), 'aad')).toBe('text');
  });
});

test.each(['', 'a', '!', 'AAAA', 'A'.repeat(100)])('no token is %j', (token) => {
  expect(openToken(deriveKeys([OLD], 'test'), token, 'aad')).toBeUndefined();
});

test('nothing is made without a key', () => {
  expect(() => sealToken([], 'text', 'aad')).toThrow('There is no key to encrypt tokens with');
  expect(() => hmac(undefined, 'text')).toThrow('There is no key for an HMAC');
});
