import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Readiness } from '../../../src/api/operations/readiness.ts';
import { stopTimer } from '../../support/clock.ts';

test('asks the database once for all who ask at the same time and soon after', async () => {
  const { readiness, asked, answer } = openReadiness();
  const reads = [readiness.read(), readiness.read(), readiness.read()];
  answer(true);
  expect(await Promise.all([...reads, readiness.read()])).toEqual([true, true, true, true]);
  expect(asked()).toBe(1);
});

test('asks the database again after 250 ms', async () => {
  const { readiness, asked, answer } = openReadiness();
  using timer = stopTimer();
  answer(true);
  expect(await readiness.read()).toBe(true);
  timer.advance(249);
  expect(await readiness.read()).toBe(true);
  expect(asked()).toBe(1);
  timer.advance(1);
  answer(false);
  expect(await readiness.read()).toBe(false);
  expect(asked()).toBe(2);
});

test('asks nothing while nobody waits for a change', async () => {
  const { readiness, asked, answer } = openReadiness();
  answer(true);
  await readiness.read();
  const leave = new AbortController();
  const waiting = readiness.waitForChange(true, leave.signal);
  leave.abort();
  await waiting;
  await sleep(1_200);
  expect(asked()).toBe(1);
});

test('tells everyone who waits of a change', async () => {
  const { readiness, asked, answer } = openReadiness();
  answer(true);
  await readiness.read();
  const waiting = Array.from({ length: 3 }, () => readiness.waitForChange(true, new AbortController().signal));
  answer(false);
  await Promise.all(waiting);
  expect(asked()).toBe(2);
});

test('leaves no listener on the signal of whoever waited', async () => {
  const { readiness, answer } = openReadiness();
  answer(true);
  await readiness.read();
  const { signal } = new AbortController();
  const waiting = readiness.waitForChange(true, signal);
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  answer(false);
  await waiting;
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('stops being ready at the moment of a drain', async () => {
  const { readiness, answer, drain } = openReadiness();
  answer(true);
  expect(await readiness.read()).toBe(true);
  drain.abort();
  expect(await readiness.read()).toBe(false);
});

test('is not ready from the moment of a drain, whatever the database answers', async () => {
  const { readiness, answer, drain } = openReadiness();
  const read = readiness.read();
  drain.abort();
  answer(true);
  expect([await read, await readiness.read()]).toEqual([false, false]);
});

/** Returns a readiness whose database answers as the test says last. It does not answer before. */
function openReadiness() {
  let asked = 0;
  let isReady: boolean | undefined;
  const answered = Promise.withResolvers<void>();
  const drain = new AbortController();
  const ping = async () => {
    asked++;
    await answered.promise;
    if (!isReady) throw new Error('The database does not answer');
  };
  return {
    readiness: new Readiness({ ping }, drain.signal),
    drain,
    asked: () => asked,
    answer(value: boolean) {
      isReady = value;
      answered.resolve();
    },
  };
}
