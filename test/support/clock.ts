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

/** Stops `performance.now` until disposal: nothing gets older, however long a busy machine takes. */
export function stopTimer(): Disposable {
  return vi.spyOn(performance, 'now').mockReturnValue(performance.now());
}

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
