/** Bound before anybody fakes timers: the clock of Usher must not depend on a `Date` that follows it. */
const elapsed = performance.now.bind(performance);

/** A clock that runs with real time until it is frozen, and that can be moved. */
export class MovableClock {
  /** The time at `elapsed() === 0`, while it runs. */
  #origin: number;
  #frozenAt: number | undefined;

  constructor(start: Date = new Date()) {
    this.#origin = start.getTime() - elapsed();
  }

  readonly read = (): Date => new Date(this.#frozenAt ?? Math.floor(this.#origin + elapsed()));

  freeze(): void {
    this.#frozenAt ??= this.read().getTime();
  }

  run(): void {
    if (this.#frozenAt !== undefined) this.#origin = this.#frozenAt - elapsed();
    this.#frozenAt = undefined;
  }

  moveTo(milliseconds: number): void {
    if (this.#frozenAt !== undefined) this.#frozenAt = milliseconds;
    else this.#origin = milliseconds - elapsed();
  }
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns the milliseconds of a duration such as `16m`. @throws TypeError */
export function parseDuration(duration: number | string): number {
  const [, digits, unit = ''] = /^(\d+)(ms|s|m|h|d)$/.exec(String(duration)) ?? [];
  const milliseconds = typeof duration === 'number' ? duration : Number(digits) * (UNITS[unit] ?? Number.NaN);
  if (!Number.isFinite(milliseconds) || milliseconds < 0)
    throw new TypeError(`A duration is a number of milliseconds, or 90s, 16m, 12h, 90d, not ${duration}`);
  return milliseconds;
}
