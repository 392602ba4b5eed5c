/**
 * Usher uses the time of Postgres, which all replicas share. Between two measurements it adds the time of the process's
 * monotonic clock, so a step of the system clock has no effect.
 */
import type { Deadline } from '../../database/pool/database.ts';

/** How far the clock of this machine may be from that of Postgres. */
const MAX_SKEW_MS = 5_000;
/** How many of the newest measurements determine the time. */
const KEPT_MEASUREMENTS = 8;

/** Reads the clock of Postgres, in milliseconds since 1970. */
export type ReadTime = (deadline: Deadline) => Promise<number>;

/** The clocks of this machine and of Postgres are too far apart. */
export class ClockSkewError extends Error {
  constructor(skewMs: number) {
    // Equivalent: comparison: no skew is no error
    const [seconds, direction] = [(Math.abs(skewMs) / 1_000).toFixed(1), skewMs > 0 ? 'ahead of' : 'behind'];
    super(`The clock of this machine is ${seconds} s ${direction} that of Postgres. Synchronise both, such as by NTP`);
  }
}

/** Bounds of the difference between the time of Postgres and `performance.now()`, in milliseconds. */
interface Bounds {
  readonly earliest: number;
  readonly latest: number;
}

export class DatabaseClock {
  readonly #readTime: ReadTime;
  readonly #systemClock: () => number;
  #measured: readonly Bounds[] = [];
  #offset = Number.NaN;

  constructor(readTime: ReadTime, systemClock = Date.now) {
    this.#readTime = readTime;
    this.#systemClock = systemClock;
  }

  /** Returns the time of Postgres. It may be ahead by at most the round trip of the quickest answer. */
  readonly read = (): Date => new Date(performance.now() + this.#offset);

  async measure(deadline: Deadline): Promise<void> {
    const askedAt = performance.now();
    const time = await this.#readTime(deadline);
    const earliest = time - performance.now();
    this.#measured = [{ earliest, latest: time - askedAt }, ...this.#measured].slice(0, KEPT_MEASUREMENTS);
    // Never behind Postgres, or a token of another replica would seem to come from the future. The lowest upper bound
    // comes from the quickest answer.
    this.#offset = Math.max(earliest, Math.min(...this.#measured.map(({ latest }) => latest)));
  }

  /**
   * Returns the earlier of the two clocks' times, so that one wrong clock deletes nothing too early.
   *
   * @throws ClockSkewError
   */
  readonly readForDeletion = (): Date => {
    this.requireInStep();
    return new Date(Math.min(this.#systemClock(), this.read().getTime()));
  };

  /** @throws ClockSkewError */
  requireInStep(): void {
    const skewMs = this.#systemClock() - this.read().getTime();
    if (Math.abs(skewMs) > MAX_SKEW_MS) throw new ClockSkewError(skewMs);
  }
}

/** How long each measurement at the start may take. */
const START_TIMEOUT_MS = 10_000;

/** Returns the clock of the database, or one that reads `replacement` in its place. @throws ClockSkewError */
export async function openClock(
  readTime: ReadTime,
  replacement: (() => Date) | undefined,
): Promise<Pick<DatabaseClock, 'read' | 'readForDeletion' | 'measure'>> {
  if (replacement) return { read: replacement, readForDeletion: replacement, measure: () => Promise.resolve() };
  const clock = new DatabaseClock(readTime);
  // The first measurement is inexact, because it includes opening the connection.
  for (let time = 0; time < 2; time++) await measureAtStart(clock);
  clock.requireInStep();
  return clock;
}

/** Tries once more: a connection to an old primary is given up, with its statement, as soon as the new one is known. */
async function measureAtStart(clock: DatabaseClock): Promise<void> {
  const measure = () => clock.measure(performance.now() + START_TIMEOUT_MS);
  try {
    await measure();
  } catch (error) {
    await measure().catch(() => {
      throw error;
    });
  }
}
