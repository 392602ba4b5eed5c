import type { Progress } from './run-bench.ts';

/**
 * Measures the subjects in each round, in the reverse order every second round, so that none is always the first.
 * Returns the costs of each subject, one per round. The first round is the warm-up, and does not count.
 */
export async function measureRounds<Subject, Cost>(
  subjects: readonly Subject[],
  { rounds, progress }: { rounds: number; progress: Progress },
  measure: (subject: Subject, round: number) => Promise<Cost>,
): Promise<readonly (readonly Cost[])[]> {
  const costs = new Map(subjects.map((subject): [Subject, Cost[]] => [subject, []]));
  for (let round = 0; round <= rounds; round++) {
    progress(`round ${round} of ${rounds}`);
    for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) {
      const cost = await measure(subject, round);
      if (round > 0) costs.get(subject)?.push(cost);
    }
  }
  return [...costs.values()];
}
