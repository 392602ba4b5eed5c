import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { ApiKeys } from '../../../src/domain/api-keys/api-keys.ts';
import { digestOf, generateApiKey, isApiKey } from '../../../src/domain/applications/api-key.ts';
import { refusalOf } from '../../support/refusals.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PRINTABLE = Array.from({ length: 0x7e - 0x20 + 1 }, (_, index) => String.fromCharCode(0x20 + index));

const INVALID_API_KEY = {
  code: 'unauthenticated',
  message: 'Invalid API key',
  violations: [],
  reason: 'INVALID_API_KEY',
};

const keys = Array.from({ length: 2 }, generateApiKey);

describe('a new API key', () => {
  test('is usk_, 43 base62 characters and 6 more', () => {
    for (const key of keys) expect(key).toMatch(/^usk_[0-9A-Za-z]{43}[0-9A-Za-z]{6}$/);
  });

  test('ends in the CRC-32 of what comes before', () => {
    for (const key of keys) expect(fromBase62(key.slice(-6))).toBe(BigInt(crc32Of(key.slice(0, -6))));
  });

  test('carries 256 bits, each of which is both 0 and 1 in a sample', () => {
    const secrets = Array.from({ length: 200 }, () => fromBase62(generateApiKey().slice(4, 47)));
    const union = secrets.reduce((bits, secret) => bits | secret);
    const intersection = secrets.reduce((bits, secret) => bits & secret);
    expect([union, intersection]).toEqual([2n ** 256n - 1n, 0n]);
    expect(new Set(secrets).size).toBe(secrets.length);
  });

  test('is accepted as a key', () => {
    for (const key of keys) expect(isApiKey(key)).toBe(true);
  });

  test('is stored as its SHA-256', () => {
    for (const key of keys) expect(digestOf(key)).toBe(createHash('sha256').update(key).digest('hex'));
  });
});

describe('a mistyped API key is refused without a look-up,', () => {
  test.each([
    ['one character is another', withAnotherCharacter],
    ['one character is missing', (key: string) => positions(key).map((at) => key.slice(0, at) + key.slice(at + 1))],
    ['one character is doubled', (key: string) => positions(key).map((at) => key.slice(0, at + 1) + key.slice(at))],
    ['two adjacent characters are swapped', withSwappedCharacters],
    ['the end is cut off', (key: string) => positions(key).map((at) => key.slice(0, at))],
    ['the beginning is cut off', (key: string) => positions(key).map((at) => key.slice(at + 1))],
    ['something is added', (key: string) => PRINTABLE.flatMap((character) => [character + key, key + character])],
    ['there is white space around it', (key: string) => ['\n', '\r\n', '\t', '\0'].flatMap((s) => [s + key, key + s])],
    ['its case is another', (key: string) => [key.toUpperCase(), key.toLowerCase()]],
    ['its letters are of another script', (key: string) => [key.replace('s', 'ѕ'), key.replace('k', 'к')]],
    ['it is quoted or carries a scheme', (key: string) => [`"${key}"`, `Bearer ${key}`, `${key},${key}`, key + key]],
  ])('when %s', async (_, mistype) => {
    const apiKeys = new ApiKeys(lookUp);
    const mistyped = keys.flatMap(mistype);
    expect(mistyped.length).toBeGreaterThan(0);
    for (const text of mistyped) {
      expect(await refusalOf(apiKeys.authenticate(text)), text).toEqual(INVALID_API_KEY);
    }
  });

  test('when its checksum is right, and its form is not', async () => {
    for (const text of ['', 'usk_', `usk-${'0'.repeat(43)}`, `usk_${'0'.repeat(42)}`, `usk_${'0'.repeat(44)}`]) {
      const key = text + toChecksum(crc32Of(text));
      expect(await refusalOf(new ApiKeys(lookUp).authenticate(key)), key).toEqual(INVALID_API_KEY);
    }
  });

  test('when it is missing', async () => {
    expect(await refusalOf(new ApiKeys(lookUp).authenticate(undefined))).toEqual(INVALID_API_KEY);
  });
});

function withAnotherCharacter(key: string): string[] {
  return positions(key).flatMap((at) =>
    PRINTABLE.filter((character) => character !== key[at]).map(
      (character) => key.slice(0, at) + character + key.slice(at + 1),
    ),
  );
}

function withSwappedCharacters(key: string): string[] {
  return positions(key)
    .slice(0, 46)
    .filter((at) => key[at] !== key[at + 1])
    .map((at) => `${key.slice(0, at)}${key[at + 1]}${key[at]}${key.slice(at + 2)}`);
}

function positions(key: string): number[] {
  return Array.from(key, (_, index) => index);
}

async function lookUp(): Promise<never> {
  throw new Error('The key was looked up');
}

function fromBase62(digits: string): bigint {
  return [...digits].reduce((value, digit) => value * 62n + BigInt(BASE62.indexOf(digit)), 0n);
}

function toChecksum(crc: number): string {
  return Array.from({ length: 6 }, (_, place) => BASE62[Math.floor(crc / 62 ** (5 - place)) % 62]).join('');
}

/** ISO 3309, bit by bit: an implementation apart from the service's. */
function crc32Of(text: string): number {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}
