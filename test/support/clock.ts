import { vi } from 'vitest';

/** A clock that moves only when a test advances it: `startTestService({ clock: clock.read })`. */
export class TestClock {
  #now: number;

  constructor(start: Date = new Date()) {
    this.#now = start.getTime();
  }

  readonly read = (): Date => new Date(this.#now);

  advance(milliseconds: number): void {
    this.#now += milliseconds;
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
