/** Which attributes an operator may write, and which an application may list. Who sees them: test/contract/attributes.test.ts. */
import { expect, test } from 'vitest';
import type { ServiceError } from '../../../src/domain/core/errors.ts';
import { check } from '../../../src/domain/core/validation.ts';
import { attributeClaimsRule, attributesRule } from '../../../src/domain/users/attributes.ts';

const REFUSED = 'VALIDATION_FAILED';

/** Returns the value, or what an error says of why it is refused. */
function attempt(read: () => unknown, says: 'reason' | 'violations' = 'reason'): unknown {
  try {
    return read();
  } catch (error) {
    return (error as ServiceError)[says];
  }
}
const read = (attributes: unknown) => attempt(() => check({ attributes }, { attributes: attributesRule }).attributes);

const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`a${at}`, at]));
/** As JSON, it has so many bytes. */
const ofBytes = (count: number) => ({ a: 'x'.repeat(count - '{"a":""}'.length) });

test.each<[string, given: unknown]>([
  ['texts, numbers, booleans and lists of texts', { plan_2: 'pro', a: '', seats: 5.5, beta: true, old: false, b: [] }],
  ['a list of texts', { teams: ['a', 'ü'] }],
  ['a name of 64 characters', { ['x'.repeat(64)]: 1 }],
  ['50 of them', many(50)],
  ['4,096 bytes', ofBytes(4_096)],
  ['a username', { preferred_username: 'ada lovelace' }],
  ['a username of 255 characters', { preferred_username: '🙂'.repeat(255) }],
])('attributes are accepted: %s', (_, given) => {
  expect(read(given)).toEqual(given);
});

test.each<[string, given: unknown]>([
  ['none that are given', undefined],
  ['null', null],
  ['an empty object', {}],
])('attributes are none: %s', (_, given) => {
  expect(read(given)).toBeNull();
});

test.each<[string, given: unknown]>([
  ['a list', []],
  ['a number', 5],
  ['a name in capitals', { Plan: 1 }],
  ['a name that begins with a digit', { '2plan': 1 }],
  ['no name', { '': 1 }],
  ['a name of 65 characters', { ['x'.repeat(65)]: 1 }],
  ['a registered claim', { sub: 'somebody else' }],
  ['51 of them', many(51)],
  ['4,097 bytes', ofBytes(4_097)],
  ['null in it', { a: null }],
  ['an object in it', { a: { b: 'c' } }],
  ['a list of numbers', { a: ['b', 1] }],
  ['no number', { a: Number.NaN }],
  ['NUL', { a: '\0' }],
  ['NUL in a list', { a: ['b', '\0'] }],
  ['half a character', { a: '\ud800' }],
  ['an empty username', { preferred_username: '' }],
  ['a username of 256 characters', { preferred_username: 'x'.repeat(256) }],
  ['a username with a control character', { preferred_username: 'a\nb' }],
  ['a username that is a number', { preferred_username: 1 }],
  ['a username that is a list', { preferred_username: ['a'] }],
])('attributes are refused: %s', (_, given) => {
  expect(read(given)).toBe(REFUSED);
});

test('a value of another kind is refused with the kinds that there are', () => {
  const read = () => check({ attributes: { a: null } }, { attributes: attributesRule });
  const message = 'must have texts, numbers, booleans, or lists of texts as values';
  expect(attempt(read, 'violations')).toEqual([{ field: 'attributes', message }]);
});

test.each<[string, given: unknown, answer: unknown]>([
  ['none', [], []],
  ['one', ['plan'], ['plan']],
  ['one that is there twice, once', ['plan', 'seats', 'plan'], ['plan', 'seats']],
  ['10', Object.keys(many(10)), Object.keys(many(10))],
  ['11', Object.keys(many(11)), REFUSED],
  ['a registered claim', ['email'], REFUSED],
  ['a name in capitals', ['Plan'], REFUSED],
  ['no text', [1], REFUSED],
])('an application lists attributes: %s', (_, attributeClaims, answer) => {
  const rules = { attributeClaims: attributeClaimsRule };
  expect(attempt(() => check({ attributeClaims }, rules).attributeClaims)).toEqual(answer);
});
