/** An open-loop load: calls are made at a fixed rate, whether or not earlier ones have been answered. */
import type { Answer } from './load.ts';

export interface Arrivals {
  /** Stops calling, and resolves to all answers when the last one has arrived. */
  stop(): Promise<readonly Answer[]>;
}

const TICK_MS = 5;

/** Starts making calls. `rate` is in calls per second. */
export function startOpenLoopLoad(call: () => Promise<string>, rate: number): Arrivals {
  const answers: Answer[] = [];
  const pending = new Set<Promise<void>>();
  const beganAt = performance.now();
  let made = 0;

  const makeCall = async () => {
    const startedAt = performance.now();
    const outcome = await call().catch((error) => `failed: ${error}`);
    answers.push({ call: '', outcome, startedAt, tookMs: performance.now() - startedAt });
  };
  const timer = setInterval(() => {
    const due = ((performance.now() - beganAt) / 1_000) * rate;
    for (; made < due; made++) {
      const answered = makeCall().finally(() => pending.delete(answered));
      pending.add(answered);
    }
  }, TICK_MS);

  return {
    async stop() {
      clearInterval(timer);
      await Promise.all(pending);
      return answers;
    },
  };
}
