import { expect, test } from 'vitest';
import { Parameters } from '../../../../src/modules/oidc/domain/parameters.ts';

test('the parameters of a request are decoded, and one that is empty is missing', () => {
  const parameters = new Parameters('a=1%202+3&empty=&%F0%9F%9A%AA=%ff&__proto__=x');
  expect(['a', 'empty', 'b', '\u{1F6AA}', '__proto__'].map((name) => parameters.get(name))).toEqual([
    '1 2 3',
    undefined,
    undefined,
    '\ufffd',
    'x',
  ]);
});

test('a parameter that is there twice is repeated, even if one is empty', () => {
  const parameters = new Parameters('a=1&b=2&a=&c=3&c=3');
  expect(parameters.hasRepeated(['b', 'x'])).toBe(false);
  expect([parameters.hasRepeated(['b', 'a']), parameters.hasRepeated(['c'])]).toEqual([true, true]);
});
