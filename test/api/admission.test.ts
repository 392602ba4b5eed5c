/** The number of calls in flight has a limit, which falls while calls are slow, and which callers share. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { Admission, type AdmittedCall } from '../../src/api/admission.ts';
import { stopTimer } from '../support/clock.ts';

/** A call should take at most 300 ms of it. */
const REQUEST_TIMEOUT_MS = 2_000;
const SLOW_MS = 800;
const MOST = 1_000;
const LEAST = 32;

const timer = stopTimer();
afterAll(() => timer[Symbol.dispose]());

test('admits a thousand calls and refuses the next, at its gate and in its handler', async () => {
  const admission = openAdmission();
  const calls = admission.handle(MOST);
  await admission.refuse();
  expect(() => admission.check('a')).toThrow('Service unavailable');
  admission.release();
  await calls;
  await admission.handle(1);
});

test('admits fewer calls after slow ones, and more again after fast ones', async () => {
  const admission = openAdmission();
  const slow = admission.handle(2 * LEAST);
  timer.advance(SLOW_MS);
  admission.release();
  await slow;

  admission.hold();
  const fast = admission.handle(LEAST);
  await admission.refuse();
  admission.release();
  await fast;

  await admission.admit(LEAST + 1);
});

test('admits as many calls as before after slow ones that failed', async () => {
  const admission = openAdmission();
  const failing = admission.handle(2 * LEAST);
  timer.advance(SLOW_MS);
  admission.release(new Error('Waited for a lock'));
  await expect(failing).rejects.toThrow('Waited for a lock');

  await admission.admit(MOST);
});

test('admits as many calls as before after slow ones that waited for a lock', async () => {
  const admission = openAdmission();
  const waiting = admission.handle(2 * LEAST, { waitsForLock: true });
  timer.advance(SLOW_MS);
  admission.release();
  await waiting;

  await admission.admit(MOST);
});

test('admits an equal share for each caller beside one that uses the whole limit', async () => {
  const admission = openAdmission();
  const busy = admission.handle(MOST, { caller: 'busy' });
  const second = admission.handle(MOST / 2, { caller: 'second' });
  await admission.refuse({ caller: 'second' });
  const third = admission.handle(Math.floor(MOST / 3) + 1, { caller: 'third' });
  await admission.refuse({ caller: 'third' });
  await admission.refuse({ caller: 'busy' });
  admission.release();
  await Promise.all([busy, second, third]);

  await admission.admit(MOST, { caller: 'second' });
});

/** Returns an admission whose calls are in flight until they are released. */
function openAdmission() {
  let released = Promise.withResolvers<void>();
  const admission = new Admission({ max: MOST, min: LEAST }, REQUEST_TIMEOUT_MS);
  const handle = (count: number, { caller = 'a', waitsForLock = false } = {}) => {
    const work = ({ ignoreTime }: AdmittedCall) => {
      if (waitsForLock) ignoreTime();
      return released.promise;
    };
    return Promise.all(Array.from({ length: count }, () => admission.run(caller, work)));
  };
  const hold = () => {
    released = Promise.withResolvers<void>();
  };
  return {
    check: (caller: string) => admission.check(caller),
    handle,
    hold,
    release: (error?: Error) => (error ? released.reject(error) : released.resolve()),
    /** Expects the next call to be refused. One that is admitted would be in flight for ever. */
    refuse: async (call?: Parameters<typeof handle>[1]) => {
      const outcome = Promise.race([handle(1, call), sleep(0, 'admitted')]);
      await expect(outcome).rejects.toThrow('Service unavailable');
    },
    /** Expects so many calls to be admitted at a time. */
    admit: async (...calls: Parameters<typeof handle>) => {
      hold();
      const admitted = handle(...calls);
      released.resolve();
      await admitted;
    },
  };
}
