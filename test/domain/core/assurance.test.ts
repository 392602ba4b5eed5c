import { expect, test } from 'vitest';
import { acrOf, levelOfAcr, levelOfAcrValues, nameRequiredAssurance } from '../../../src/domain/core/assurance.ts';

test.each([
  [1, 'ANY', '1'],
  [2, 'TWO_FACTORS', '2'],
  [3, 'PHISHING_RESISTANT', 'phr'],
  [0, 'ANY', '1'],
  [4, 'ANY', '1'],
])('the level %d is %s and %s', (level, name, acr) => {
  expect([nameRequiredAssurance(level), acrOf(level)]).toEqual([name, acr]);
});

test.each<[unknown, number]>([
  ['1', 1],
  ['2', 2],
  ['phr', 3],
  ['phrh', 1],
  ['', 1],
  [undefined, 1],
  [null, 1],
  [2, 1],
  [['phr'], 1],
])('the level of the acr %j is %d', (acr, level) => {
  expect(levelOfAcr(acr)).toBe(level);
});

test('the strongest of several counts', () => {
  expect(['1 phr 2', '2 other', '', undefined].map((values) => levelOfAcrValues(values))).toEqual([3, 2, 1, 1]);
});
