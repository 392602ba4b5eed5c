/** Requests that come all at once begin in turns, so that nothing else waits for all of them. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Turns } from '../../src/net/turns.ts';

const MOST = 256;

test('a request begins at once', () => {
  const turns = new Turns();
  let isBegun = false;
  turns.take(() => {
    isBegun = true;
  });
  expect(isBegun).toBe(true);
});

test('of more than begin in one turn of the event loop the others begin in the next, in their order', async () => {
  const turns = new Turns();
  const begun: number[] = [];
  const all = Array.from({ length: 3 * MOST }, (_, at) => at);
  for (const at of all) turns.take(() => begun.push(at));
  expect(begun).toEqual(all.slice(0, MOST));

  await turn();
  expect(begun).toEqual(all);
});

test('a turn has as much room as the one before', async () => {
  const turns = new Turns();
  let begun = 0;
  for (let round = 1; round <= 3; round++) {
    for (let at = 0; at < MOST; at++) turns.take(() => begun++);
    expect(begun).toBe(round * MOST);
    await turn();
  }
});
