/** The checker of feeds takes a correct one, and notices each kind of fault. */
import { expect, test } from 'vitest';
import { type FeedHistory, findFeedViolations, type Place } from '../invariants/feed.ts';

const CORRECT: FeedHistory = {
  places: [
    { position: 1, messageId: 'b', subject: 'ada' },
    { position: 2, messageId: 'a', subject: 'grace' },
    // Of users who were erased, after the reader had read one of them.
    { position: 3, messageId: 'c', subject: null },
    { position: 4, messageId: 'd', subject: null },
    { position: 5, messageId: 'e', subject: 'user.deleted' },
  ],
  changes: ['ada', 'grace'],
  read: ['b', 'a', 'd', 'e'],
};

const rulesOf = (changes: Partial<FeedHistory>) =>
  findFeedViolations({ ...CORRECT, ...changes }).map(({ rule }) => rule);

test('a correct feed has no violation', () => {
  expect(rulesOf({})).toEqual([]);
});

const [first, second] = CORRECT.places as [Place, Place];
const IN_ORDER = 'a reader has not read the feed in order';

test.each([
  ['a gap', { places: [first, { ...second, position: 3 }], read: ['b', 'a'] }, ['a feed has a gap']],
  [
    'a message with two places',
    { places: [...CORRECT.places, { ...first, position: 6 }], read: [...CORRECT.read, 'b'] },
    ['a message has two places', 'a change does not have one place', 'a reader has read a message twice'],
  ],
  ['a change that was not told', { changes: ['ada', 'grace', 'joan'] }, ['a change does not have one place']],
  ['a message that the reader has skipped', { read: ['b', 'd', 'e'] }, [IN_ORDER]],
  ['a message that the reader has not reached', { read: ['b', 'a', 'd'] }, [IN_ORDER]],
  ['messages in another order', { read: ['a', 'b', 'e'] }, [IN_ORDER]],
  ['a message that has no place', { read: [...CORRECT.read, 'x'] }, [IN_ORDER]],
  ['a message that comes again', { read: ['b', 'a', 'a', 'e'] }, [IN_ORDER, 'a reader has read a message twice']],
] as [string, Partial<FeedHistory>, string[]][])('%s is noticed', (_, changes, rules) => {
  expect(rulesOf(changes)).toEqual(rules);
});
