/** Requests that come all at once begin in turns, so that nothing else waits for all of them. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type ConnectionQuota, RequestScheduler } from '../../src/http/request-scheduler.ts';

const MOST = 256;

test('a request begins at once', () => {
  const turns = new RequestScheduler();
  let isBegun = false;
  turns.take(() => {
    isBegun = true;
  }, someConnection());
  expect(isBegun).toBe(true);
});

test('of one connection sixteen begin at once, and the others once all has been read, in every turn', async () => {
  const turns = new RequestScheduler();
  const one = someConnection();
  for (let round = 0; round < 3; round++) {
    let begun = 0;
    for (let at = 0; at < 100; at++) turns.take(() => begun++, one);
    expect(begun).toBe(16);
    await turn();
    expect(begun).toBe(100);
  }
});

test('who comes after one that waits waits as well', async () => {
  const turns = new RequestScheduler();
  const one = someConnection();
  const begun: string[] = [];
  for (let at = 0; at < 17; at++) turns.take(() => begun.push('one'), one);
  turns.take(() => begun.push('another'), someConnection());
  expect(begun).toEqual(Array(16).fill('one'));
  await turn();
  expect(begun.slice(16)).toEqual(['one', 'another']);
});

test('of more than begin in one turn of the event loop the others begin in the next ones, in their order', async () => {
  const turns = new RequestScheduler();
  const begun: number[] = [];
  const all = Array.from({ length: 3 * MOST }, (_, at) => at);
  for (const at of all) turns.take(() => begun.push(at), someConnection());
  expect(begun).toEqual(all.slice(0, MOST));

  await turn();
  expect(begun).toEqual(all.slice(0, 2 * MOST));
  // Who comes now comes after those that wait.
  turns.take(() => begun.push(3 * MOST), someConnection());
  await turn();
  expect(begun).toEqual(all);
  await turn();
  expect(begun).toEqual([...all, 3 * MOST]);
});

test('a turn has as much room as the one before', async () => {
  const turns = new RequestScheduler();
  let begun = 0;
  for (let round = 1; round <= 3; round++) {
    for (let at = 0; at < MOST; at++) turns.take(() => begun++, someConnection());
    expect(begun).toBe(round * MOST);
    await turn();
  }
});

test('where a connection comes, requests begin in the next turn', async () => {
  const turns = new RequestScheduler();
  let begun = 0;
  turns.yieldToAccept();
  turns.take(() => begun++, someConnection());
  expect(begun).toBe(0);
  // The one that brought the connection, and the one after.
  await turn();
  await turn();
  expect(begun).toBe(1);
  turns.take(() => begun++, someConnection());
  expect(begun).toBe(2);
});

test('while connections come in every turn, requests begin in one of 64', async () => {
  const turns = new RequestScheduler();
  let begun = 0;
  for (let at = 0; at < 2 * MOST; at++) {
    turns.yieldToAccept();
    turns.take(() => begun++, someConnection());
  }
  const begunAt: number[] = [];
  for (let at = 1; at <= 3 * 64; at++) {
    turns.yieldToAccept();
    await turn();
    if (begun > begunAt.length * MOST) begunAt.push(at);
  }
  expect(begun).toBe(2 * MOST);
  expect(begunAt).toEqual([64, 128]);
});

function someConnection(): ConnectionQuota {
  return { turn: 0, begunInTurn: 0 };
}
