import { expect, test } from 'vitest';
import { KeySet } from '../../../src/domain/imports/import-in-order.ts';

test('knows every key that was added and no other, in 8 bytes a place', () => {
  const keys = new KeySet(1_000_000);
  const nameOf = (index: number) => `email ${index}@example.com`;
  for (let index = 0; index < 10_000; index++) for (let times = 0; times < 2; times++) keys.add(nameOf(index));
  const known = Array.from({ length: 20_000 }, (_, index) => keys.has(nameOf(index)));
  expect(known.indexOf(false)).toBe(10_000);
  expect(known.lastIndexOf(true)).toBe(9_999);
  // 10,000 keys need 2^14 places, since a quarter stays empty.
  expect(keys.bytes).toBe(8 * 2 ** 14);
});

test('keeps no more keys than it may', () => {
  const keys = new KeySet(1_000);
  for (let index = 0; index < 5_000; index++) keys.add(`id ${index}`);
  expect([keys.has('id 999'), keys.has('id 1000')]).toEqual([true, false]);
  expect(keys.bytes).toBe(8 * 2 ** 11);
});

test('takes more memory when three quarters are filled, and not before', () => {
  const keys = new KeySet(10_000);
  for (let index = 0; index < 768; index++) keys.add(`id ${index}`);
  expect(keys.bytes).toBe(8 * 2 ** 10);
  keys.add('id 768');
  expect(keys.bytes).toBe(8 * 2 ** 11);
});

test.each([
  ['first', 'id 19823', 'id 66808'],
  ['second', 'id 780940', 'id 3084265'],
])('takes no key for another whose hash has the same %s word', (_, known, other) => {
  const keys = new KeySet(2);
  keys.add(known);
  expect([keys.has(known), keys.has(other)]).toEqual([true, false]);
  keys.add(other);
  expect(keys.has(other)).toBe(true);
});

test('knows a key whose hash begins as an empty place does', () => {
  const keys = new KeySet(1);
  // Of four thousand million keys, one has it.
  keys.add('id 1773898232');
  expect(keys.has('id 1773898232')).toBe(true);
});
