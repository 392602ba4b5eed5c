import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type ConnectionQuota, RequestScheduler } from '../../../src/http/request-scheduler.ts';

const MAX_PER_ITERATION = 256;

test('starts 16 requests of one connection at once and the rest in the next iteration', async () => {
  const scheduler = new RequestScheduler();
  const connection = newConnection();
  for (let round = 0; round < 3; round++) {
    let started = 0;
    for (let at = 0; at < 100; at++) scheduler.run(() => started++, connection);
    expect(started).toBe(16);
    await nextIteration();
    expect(started).toBe(100);
  }
});

test('starts no request before one that waits', async () => {
  const scheduler = new RequestScheduler();
  const connection = newConnection();
  const started: string[] = [];
  for (let at = 0; at < 17; at++) scheduler.run(() => started.push('first'), connection);
  scheduler.run(() => started.push('second'), newConnection());
  expect(started).toEqual(Array(16).fill('first'));
  await nextIteration();
  expect(started.slice(16)).toEqual(['first', 'second']);
});

test('lets connections take turns while requests wait', async () => {
  const scheduler = new RequestScheduler();
  const [busy, other] = [newConnection(), newConnection()];
  const started: string[] = [];
  for (let at = 0; at < 16 + 2 * MAX_PER_ITERATION; at++) scheduler.run(() => started.push('busy'), busy);
  for (let at = 0; at < 2; at++) scheduler.run(() => started.push('other'), other);
  await nextIteration();
  expect(started.slice(16, 21)).toEqual(['busy', 'other', 'busy', 'other', 'busy']);
  await nextIteration();
  expect(started.length).toBe(16 + 2 * MAX_PER_ITERATION);
});

test('starts 256 requests per iteration, in the order in which they came', async () => {
  const scheduler = new RequestScheduler();
  const started: number[] = [];
  const all = Array.from({ length: 3 * MAX_PER_ITERATION }, (_, at) => at);
  for (const at of all) scheduler.run(() => started.push(at), newConnection());
  expect(started).toEqual(all.slice(0, MAX_PER_ITERATION));

  await nextIteration();
  expect(started).toEqual(all.slice(0, 2 * MAX_PER_ITERATION));
  scheduler.run(() => started.push(3 * MAX_PER_ITERATION), newConnection());
  await nextIteration();
  expect(started).toEqual(all);
  await nextIteration();
  expect(started).toEqual([...all, 3 * MAX_PER_ITERATION]);
});

test('delays requests by one iteration when a connection is accepted', async () => {
  const scheduler = new RequestScheduler();
  let started = 0;
  scheduler.yieldToAccept();
  scheduler.run(() => started++, newConnection());
  expect(started).toBe(0);
  // The iteration of the connection, and the one after it.
  await nextIteration();
  await nextIteration();
  expect(started).toBe(1);
  scheduler.run(() => started++, newConnection());
  expect(started).toBe(2);
});

test('starts requests in every 64th iteration while each of them accepts a connection', async () => {
  const scheduler = new RequestScheduler();
  let started = 0;
  for (let at = 0; at < 2 * MAX_PER_ITERATION; at++) {
    scheduler.yieldToAccept();
    scheduler.run(() => started++, newConnection());
  }
  const iterations: number[] = [];
  for (let iteration = 1; iteration <= 3 * 64; iteration++) {
    scheduler.yieldToAccept();
    await nextIteration();
    if (started > iterations.length * MAX_PER_ITERATION) iterations.push(iteration);
  }
  expect(started).toBe(2 * MAX_PER_ITERATION);
  expect(iterations).toEqual([64, 128]);
});

test('drops the requests of a connection that has closed, and starts those of others in their order', async () => {
  const scheduler = new RequestScheduler();
  const [closed, other] = [newConnection(), newConnection()];
  const started: string[] = [];
  for (let at = 0; at < 100; at++) scheduler.run(() => started.push('closed'), closed);
  for (let at = 0; at < 2; at++) scheduler.run(() => started.push('other'), other);
  scheduler.forget(closed);
  await nextIteration();
  expect(started).toEqual([...Array(16).fill('closed'), 'other', 'other']);
});

function newConnection(): ConnectionQuota {
  return { iteration: 0, begunInIteration: 0 };
}
