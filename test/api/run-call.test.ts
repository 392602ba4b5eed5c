import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { runCall } from '../../src/api/calls.ts';

const timeout = () => new Error('too late');
const until = (deadline: number) => ({ deadline, span: undefined });

test('resolves to the result, or rejects with the error, of work that ends in time', async () => {
  const deadline = performance.now() + 60_000;
  expect(await runCall(until(deadline), async () => 'result', timeout)).toBe('result');
  await expect(runCall(until(deadline), () => Promise.reject(new Error('failed')), timeout)).rejects.toThrow('failed');
});

test('rejects when the deadline passes, and does not begin after it', async () => {
  const pending = Promise.withResolvers<void>();
  await expect(runCall(until(performance.now() + 10), () => pending.promise, timeout)).rejects.toThrow('too late');
  let begun = false;
  const begin = async () => {
    begun = true;
  };
  await expect(runCall(until(performance.now() - 1), begin, timeout)).rejects.toThrow('too late');
  expect(begun).toBe(false);
});

test('leaves no timer behind if work throws before it returns a promise', async () => {
  let timeouts = 0;
  const throwing = () => {
    throw new Error('thrown');
  };
  const run = runCall(until(performance.now() + 10), throwing, () => {
    timeouts++;
    return timeout();
  });
  await expect(run).rejects.toThrow('thrown');
  await sleep(50);
  expect(timeouts).toBe(0);
});
