/** Whether two kinds of calls can be told apart by how long they take. */
import { setTimeout as sleep } from 'node:timers/promises';

const ATTEMPTS = 5;

/**
 * The chance that a call of the second kind took longer than one of the first: 0.5 where time tells
 * nothing, 0 or 1 where it tells all (the area under the ROC curve, as Mann-Whitney count it: of equal
 * times either is half the longer one).
 */
export function areaUnderCurve(first: readonly number[], second: readonly number[]): number {
  let longer = 0;
  for (const one of first) for (const other of second) longer += (Math.sign(other - one) + 1) / 2;
  return longer / (first.length * second.length);
}

/** Makes a call ready, and returns it. */
export type Kind = () => Promise<() => Promise<unknown>>;

/** Times `count` calls of each kind, in pairs whose order is left to chance; in milliseconds. */
export async function timeInPairs(kinds: readonly [Kind, Kind], count: number): Promise<[number[], number[]]> {
  const times: [number[], number[]] = [[], []];
  for (let pair = 0; pair < count; pair++) {
    for (const kind of Math.random() < 0.5 ? ([0, 1] as const) : ([1, 0] as const)) {
      const call = await kinds[kind]();
      // What a call before has left to be done must not be counted as this one's.
      await sleep(1);
      const startedAt = performance.now();
      await call();
      times[kind].push(performance.now() - startedAt);
    }
  }
  return times;
}

/**
 * The area that time leaves after `count` calls of each kind, and once more where it is not within
 * the band around 0.5: what is there is there again, and noise is not.
 */
export async function compareTimings(
  kinds: readonly [Kind, Kind],
  { count, band }: { count: number; band: number },
): Promise<number> {
  const areas: number[] = [];
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const area = areaUnderCurve(...(await timeInPairs(kinds, count)));
    areas.push(area);
    if (Math.abs(area - 0.5) <= band) break;
  }
  return areas.at(-1) ?? 0.5;
}
