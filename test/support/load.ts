/** Closed-loop and open-loop load: callers wait for their replies before they call again, or they do not. */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Answer {
  /** The name of the call. */
  readonly call: string;
  /** What the call resolved to, such as a status, or `failed: ...` when it rejected. */
  readonly outcome: string;
  /** In milliseconds of `performance.now()`. */
  readonly startedAt: number;
  readonly tookMs: number;
}

export interface Load {
  /** All answers so far, in the order of their arrival. */
  readonly answers: readonly Answer[];
  /** Returns how long each pending call has waited, in milliseconds. */
  waits(): number[];
  /** Stops calling, and resolves to all answers when the last one has arrived. */
  stop(): Promise<readonly Answer[]>;
}

/** Starts callers that make the calls in turn, with a pause after each. */
export function startLoad(
  calls: Readonly<Record<string, () => Promise<string>>>,
  { callers, pauseMs = 0 }: { callers: number; pauseMs?: number },
): Load {
  const answers: Answer[] = [];
  const pending = new Map<symbol, number>();
  const names = Object.keys(calls);
  let isOver = false;

  const makeCall = async (call: string) => {
    const id = Symbol(call);
    const startedAt = performance.now();
    pending.set(id, startedAt);
    const outcome = (await calls[call]?.().catch((error) => `failed: ${error}`)) ?? '';
    pending.delete(id);
    answers.push({ call, outcome, startedAt, tookMs: performance.now() - startedAt });
  };
  const keepCalling = async (caller: number) => {
    for (let at = caller; !isOver; at++) {
      await makeCall(names[at % names.length] ?? '');
      if (pauseMs > 0) await sleep(pauseMs);
    }
  };
  const ended = Promise.all(Array.from({ length: callers }, (_, caller) => keepCalling(caller)));

  return {
    answers,
    waits: () => [...pending.values()].map((startedAt) => performance.now() - startedAt),
    async stop() {
      isOver = true;
      await ended;
      return answers;
    },
  };
}

/** Makes calls at a fixed rate, in calls per second, whether or not earlier ones have been answered. */
export function startOpenLoopLoad(call: () => Promise<string>, rate: number): Pick<Load, 'stop'> {
  const answers: Answer[] = [];
  const pending: Promise<number>[] = [];
  const beganAt = performance.now();
  const makeCall = async () => {
    const startedAt = performance.now();
    const outcome = await call().catch((error) => `failed: ${error}`);
    return answers.push({ call: '', outcome, startedAt, tookMs: performance.now() - startedAt });
  };
  const timer = setInterval(() => {
    const due = ((performance.now() - beganAt) / 1_000) * rate;
    while (pending.length < due) pending.push(makeCall());
  }, 5);
  return {
    async stop() {
      clearInterval(timer);
      await Promise.all(pending);
      return answers;
    },
  };
}

/** Returns the instant of its arrival, in milliseconds of `performance.now()`. */
export function endOf({ startedAt, tookMs }: Answer): number {
  return startedAt + tookMs;
}

/** Returns the longest time an answer took, in milliseconds, or 0 without answers. */
export function longestOf(answers: readonly Answer[]): number {
  return answers.reduce((longest, { tookMs }) => Math.max(longest, tookMs), 0);
}

/** Returns the milliseconds within which that part of the answers came, as 0.99 of them, or NaN without answers. */
export function quantileOf(answers: readonly Answer[], part: number): number {
  const times = answers.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  return times[Math.floor((times.length - 1) * part)] ?? Number.NaN;
}
