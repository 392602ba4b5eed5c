import { setImmediate as nextTick } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type ConnectionQuota, RequestScheduler } from '../../src/http/request-scheduler.ts';

const MAX_PER_TICK = 256;

test('starts 16 requests of one connection at once and the rest in the next tick', async () => {
  const scheduler = new RequestScheduler();
  const connection = newConnection();
  for (let round = 0; round < 3; round++) {
    let started = 0;
    for (let at = 0; at < 100; at++) scheduler.take(() => started++, connection);
    expect(started).toBe(16);
    await nextTick();
    expect(started).toBe(100);
  }
});

test('starts no request before one that waits', async () => {
  const scheduler = new RequestScheduler();
  const connection = newConnection();
  const started: string[] = [];
  for (let at = 0; at < 17; at++) scheduler.take(() => started.push('first'), connection);
  scheduler.take(() => started.push('second'), newConnection());
  expect(started).toEqual(Array(16).fill('first'));
  await nextTick();
  expect(started.slice(16)).toEqual(['first', 'second']);
});

test('starts 256 requests per tick, in the order in which they came', async () => {
  const scheduler = new RequestScheduler();
  const started: number[] = [];
  const all = Array.from({ length: 3 * MAX_PER_TICK }, (_, at) => at);
  for (const at of all) scheduler.take(() => started.push(at), newConnection());
  expect(started).toEqual(all.slice(0, MAX_PER_TICK));

  await nextTick();
  expect(started).toEqual(all.slice(0, 2 * MAX_PER_TICK));
  scheduler.take(() => started.push(3 * MAX_PER_TICK), newConnection());
  await nextTick();
  expect(started).toEqual(all);
  await nextTick();
  expect(started).toEqual([...all, 3 * MAX_PER_TICK]);
});

test('delays requests by one tick when a connection is accepted', async () => {
  const scheduler = new RequestScheduler();
  let started = 0;
  scheduler.yieldToAccept();
  scheduler.take(() => started++, newConnection());
  expect(started).toBe(0);
  // The tick of the connection, and the one after it.
  await nextTick();
  await nextTick();
  expect(started).toBe(1);
  scheduler.take(() => started++, newConnection());
  expect(started).toBe(2);
});

test('starts requests in every 64th tick while each tick accepts a connection', async () => {
  const scheduler = new RequestScheduler();
  let started = 0;
  for (let at = 0; at < 2 * MAX_PER_TICK; at++) {
    scheduler.yieldToAccept();
    scheduler.take(() => started++, newConnection());
  }
  const ticks: number[] = [];
  for (let tick = 1; tick <= 3 * 64; tick++) {
    scheduler.yieldToAccept();
    await nextTick();
    if (started > ticks.length * MAX_PER_TICK) ticks.push(tick);
  }
  expect(started).toBe(2 * MAX_PER_TICK);
  expect(ticks).toEqual([64, 128]);
});

function newConnection(): ConnectionQuota {
  return { turn: 0, begunInTurn: 0 };
}
