/** Compares how long two kinds of calls take, to see whether time tells one from the other. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Prepares a call, and returns it. */
export type Kind = () => Promise<() => Promise<unknown>>;

interface TimingOptions {
  /** How many calls of each kind to time. */
  readonly count: number;
  /** How many calls of each kind to make before. */
  readonly warmUp?: number;
  /** How far from 0.5 the area may be. */
  readonly band: number;
}

const ATTEMPTS = 5;

/**
 * Returns the areas of up to five comparisons; the last is within the band if any is. A difference that
 * exists shows in every comparison, and noise does not.
 */
export async function compareTimings(kinds: readonly [Kind, Kind], options: TimingOptions): Promise<number[]> {
  const areas: number[] = [];
  while (areas.length < ATTEMPTS) {
    const area = await measureArea(kinds, options);
    areas.push(area);
    if (Math.abs(area - 0.5) <= options.band) break;
  }
  return areas;
}

/**
 * Returns the chance that a call of the second kind takes longer than one of the first: 0.5 if time tells
 * nothing, 0 or 1 if it tells all (the area under the ROC curve, as Mann-Whitney computes it).
 */
export async function measureArea(
  kinds: readonly [Kind, Kind],
  { count, warmUp = 0 }: Omit<TimingOptions, 'band'>,
): Promise<number> {
  const times: [number[], number[]] = [[], []];
  for (let pair = -warmUp; pair < count; pair++) {
    for (const kind of Math.random() < 0.5 ? ([0, 1] as const) : ([1, 0] as const)) {
      const call = await kinds[kind]();
      // So that work which an earlier call has left does not count.
      await sleep(1);
      const startedAt = performance.now();
      await call();
      if (pair >= 0) times[kind].push(performance.now() - startedAt);
    }
  }
  let longer = 0;
  for (const one of times[0]) for (const other of times[1]) longer += (Math.sign(other - one) + 1) / 2;
  return longer / count ** 2;
}
