/** Warms servers up: V8 compiles the code of a call when it has run often, so the first calls cost several times as much. */

/**
 * V8 compiles and discards code whenever a server meets another call: Usher settles after some 70,000 requests. So
 * the warm-up makes all calls in several passes, since one pass would leave the code of the first calls discarded.
 */
const PASSES = 3;
/** Rounds whose costs differ by no more are the same. */
const TOLERANCE = 0.03;
/** Two rounds may agree by luck. Of three, the middle one would have to err by as much as the code still becomes cheaper. */
const AGREEING_ROUNDS = 3;
/** The first round is of PASSES, as the second. Each later one is of as many as all before it: 96 passes in all. */
const MAX_ROUNDS = 6;

export interface WarmUp {
  /** How many requests the server has answered. */
  readonly calls: number;
  /** CPU time of a request in each round. */
  readonly rounds: readonly number[];
  /** Whether the last three rounds agree. Undefined if that was not asked for. */
  readonly isSteady: boolean | undefined;
}

/** What some passes have cost. */
export interface PassesCost {
  readonly calls: number;
  /** CPU time of a request. */
  readonly cpuMicros: number;
}

/** Returns the most passes of a warm-up. */
export function countPasses(isSteady: boolean): number {
  return isSteady ? PASSES * 2 ** (MAX_ROUNDS - 1) : PASSES;
}

/**
 * Runs the passes of one server. With `isSteady` it doubles the number of passes until the cost stays the same: short rounds
 * agree while code is half warm, since it becomes cheaper by less than the tolerance in each.
 */
export async function warmUntilSteady(
  isSteady: boolean,
  runPasses: (passes: number) => Promise<PassesCost>,
): Promise<WarmUp> {
  const first = await runPasses(PASSES);
  const rounds = [first.cpuMicros];
  let { calls } = first;
  for (let done = PASSES; isSteady && done < countPasses(true) && !doAgree(rounds); done *= 2) {
    const next = await runPasses(done);
    rounds.push(next.cpuMicros);
    calls += next.calls;
  }
  return { calls, rounds, isSteady: isSteady ? doAgree(rounds) : undefined };
}

function doAgree(rounds: readonly number[]): boolean {
  const last = rounds.slice(-AGREEING_ROUNDS);
  return last.length === AGREEING_ROUNDS && Math.max(...last) <= Math.min(...last) * (1 + TOLERANCE);
}
