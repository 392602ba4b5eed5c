/** Compares how long two kinds of calls take, to see whether time tells one from the other. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Prepares a call, and returns it. */
export type Kind = () => Promise<() => Promise<unknown>>;

/**
 * Times so many calls of each kind. Returns the chance that a call of the second kind takes longer than one of the
 * first: 0.5 if time tells nothing, 0 or 1 if it tells all (the area under the ROC curve, as Mann-Whitney computes it).
 */
export async function measureArea(
  kinds: readonly [Kind, Kind],
  { count, warmUp = 0 }: { readonly count: number; readonly warmUp?: number },
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
