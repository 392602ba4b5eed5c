/** The number of calls in flight has a limit, which falls while calls are slow. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Admission } from '../../src/api/admission.ts';

/** A call should take at most 300 ms of it. */
const REQUEST_TIMEOUT_MS = 2_000;
const SLOW_MS = 800;
const MOST = 1_000;
const LEAST = 32;

test('admits a thousand calls and refuses the next, at its gate and in its handler', async () => {
  const admission = openAdmission();
  const calls = admission.handle(MOST);
  await expect(admission.handle(1)).rejects.toThrow('Service unavailable');
  await expect(admission.passGate()).rejects.toThrow('Service unavailable');
  admission.release();
  await calls;
  await admission.handle(1);
});

test('admits fewer calls after slow ones, and more again after fast ones', async () => {
  const admission = openAdmission();
  const slow = admission.handle(2 * LEAST);
  await sleep(SLOW_MS);
  admission.release();
  await slow;

  admission.hold();
  const fast = admission.handle(LEAST);
  await expect(admission.handle(1)).rejects.toThrow('Service unavailable');
  admission.release();
  await fast;

  admission.hold();
  const more = admission.handle(LEAST + 1);
  admission.release();
  await more;
});

test('admits as many calls as before after slow ones that failed', async () => {
  const admission = openAdmission();
  const failing = admission.handle(2 * LEAST);
  await sleep(SLOW_MS);
  admission.release(new Error('Waited for a lock'));
  await expect(failing).rejects.toThrow('Waited for a lock');

  admission.hold();
  const others = admission.handle(MOST);
  admission.release();
  await others;
});

/** Returns an admission whose calls are in flight until they are released. */
function openAdmission() {
  let released = Promise.withResolvers<void>();
  const admission = new Admission({ max: MOST, min: LEAST }, REQUEST_TIMEOUT_MS);
  return {
    passGate: () => admission.run(() => {}),
    handle: (count: number) =>
      Promise.all(Array.from({ length: count }, () => admission.runTimed(() => released.promise))),
    hold: () => {
      released = Promise.withResolvers<void>();
    },
    release: (error?: Error) => (error ? released.reject(error) : released.resolve()),
  };
}
