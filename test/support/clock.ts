import { vi } from 'vitest';
import { MovableClock } from '../../src/testing/movable-clock.ts';

/** A clock that moves only when a test advances it: `startTestService({ clock: clock.read })`. */
export class TestClock extends MovableClock {
  constructor(start = new Date()) {
    super(start);
    this.freeze();
    // A moment has passed.
    this.moveTo(start.getTime());
  }

  advance(milliseconds: number): void {
    this.moveTo(this.read().getTime() + milliseconds);
  }
}

/** A `performance.now` that moves only when a test advances it, by whole milliseconds, so that differences are exact. */
export interface StoppedTimer extends Disposable {
  advance(milliseconds: number): void;
}

/** Stops `performance.now` until disposal: nothing gets older by itself, however long a busy machine takes. */
export function stopTimer(): StoppedTimer {
  let now = Math.ceil(performance.now());
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => now);
  return {
    advance(milliseconds) {
      now += milliseconds;
    },
    [Symbol.dispose]: () => spy.mockRestore(),
  };
}

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
