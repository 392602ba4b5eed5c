/**
 * The time of Usher is that of Postgres, which replicas share. Between two measurements the monotonic clock of the process
 * counts, so that steps of the system's clock change nothing.
 */
import type { Deadline } from './statement.ts';
import { statement, t } from './template.ts';

/** How far the clock of this machine may be off. */
const MAX_SKEW_MS = 5_000;
/** How many measurements count, the newest first. */
const KEPT = 8;

/** Reads the clock of Postgres, in milliseconds since 1970. */
export type ReadTime = (deadline: Deadline) => Promise<number>;

/** The clocks of this machine and of Postgres are too far apart. */
export class ClockSkewError extends Error {
  constructor(skewMs: number) {
    const [seconds, direction] = [(Math.abs(skewMs) / 1_000).toFixed(1), skewMs > 0 ? 'ahead of' : 'behind'];
    super(`The clock of this machine is ${seconds} s ${direction} that of Postgres. Synchronise both, such as by NTP`);
  }
}

/** Bounds of what to add to `performance.now()` for the time of Postgres. */
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

  /** Returns the present. It is ahead of Postgres by at most the round trip of the quickest answer. */
  readonly read = (): Date => new Date(performance.now() + this.#offset);

  async measure(deadline: Deadline): Promise<void> {
    const askedAt = performance.now();
    const time = await this.#readTime(deadline);
    const earliest = time - performance.now();
    this.#measured = [{ earliest, latest: time - askedAt }, ...this.#measured].slice(0, KEPT);
    // Never behind: a token of another replica would come from the future. The quickest answer is the most exact.
    this.#offset = Math.max(earliest, Math.min(...this.#measured.map(({ latest }) => latest)));
  }

  /** Returns the earlier of the present here and in Postgres, so that one wrong clock deletes nothing too early. */
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

/** How long a measurement at the start may take. */
const START_TIMEOUT_MS = 10_000;

/** Returns the clock of the database, or one that `replacement` stands in for. @throws ClockSkewError */
export async function openClock(
  readTime: ReadTime,
  replacement: (() => Date) | undefined,
): Promise<Pick<DatabaseClock, 'read' | 'readForDeletion' | 'measure'>> {
  if (replacement) return { read: replacement, readForDeletion: replacement, measure: () => Promise.resolve() };
  const clock = new DatabaseClock(readTime);
  // The first answer takes a connection, too.
  for (let time = 0; time < 2; time++) await clock.measure(performance.now() + START_TIMEOUT_MS);
  clock.requireInStep();
  return clock;
}

/** Not `clock_timestamp`, which is volatile: the statement only reads. */
export const selectTime = statement('select_time', { time: t.float })`
  select (extract(epoch from statement_timestamp()) * 1000)::float8 as time`;
