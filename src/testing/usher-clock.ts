/** The clock of a server in a test: it moves everything that time moves. */
import { MovableClock, parseDuration } from './movable-clock.ts';
import type { Duration, FakeDate, TestUsherClock } from './test-usher.ts';

/** What has to happen when the time has moved. */
export interface TimeKeepers {
  /** Resolves when all that is due has been done. */
  settle(): Promise<void>;
  /** Returns when something is next due. */
  findNextDue(): Promise<Date | undefined>;
  /** Forgets what was kept in memory by real time, and removes what has expired. */
  forget(): Promise<void>;
}

export class UsherClock implements TestUsherClock {
  readonly #clock: MovableClock;
  readonly #keepers: TimeKeepers;
  #follower: FakeDate | undefined;

  constructor(start: Date | undefined, keepers: TimeKeepers) {
    this.#clock = new MovableClock(start);
    this.#keepers = keepers;
  }

  /** For the server: a follower must not be behind what Usher issues. */
  readonly now = (): Date => {
    const now = this.#clock.read();
    this.#follower?.setSystemTime(now);
    return now;
  };

  async advance(duration: Duration): Promise<void> {
    await this.#moveTo(this.now().getTime() + parseDuration(duration));
  }

  async set(date: Date | string | number): Promise<void> {
    const target = new Date(date).getTime();
    if (Number.isNaN(target)) throw new RangeError(`${date} is no date`);
    const now = this.now();
    if (target < now.getTime()) {
      const times = `${new Date(target).toISOString()} is before ${now.toISOString()}`;
      throw new RangeError(
        `The clock of Usher only goes forwards, because rows of the future cannot be taken back: ${times}`,
      );
    }
    await this.#moveTo(target);
  }

  freeze(): void {
    this.#clock.freeze();
  }

  run(): void {
    this.#clock.run();
  }

  follow(vi: FakeDate): void {
    // Fake timers of the test's own are left to it.
    const isOwn = vi.isFakeTimers();
    this.#follower = isOwn ? { ...vi, setSystemTime: vi.setSystemTime, useRealTimers() {} } : vi;
    this.now();
  }

  /** Gives the process its real time back. */
  release(): void {
    this.#follower?.useRealTimers();
    this.#follower = undefined;
  }

  async #moveTo(target: number): Promise<void> {
    const { settle, findNextDue, forget } = this.#keepers;
    // Work under way holds leases, which a move would end.
    await settle();
    for (;;) {
      const next = await findNextDue();
      if (next === undefined || next.getTime() > target) break;
      this.#jump(next.getTime());
      await settle();
    }
    this.#jump(target);
    await forget();
    await settle();
  }

  /** Never backwards: the clock may run meanwhile. */
  #jump(milliseconds: number): void {
    this.#clock.moveTo(Math.max(milliseconds, this.#clock.read().getTime()));
    this.now();
  }
}
