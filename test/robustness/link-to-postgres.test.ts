import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { watchEventLoopLag } from '../support/event-loop-lag.ts';
import { type Answer, endOf, longestOf, startLoad } from '../support/load.ts';
import { createSubjects, MixedCalls, PROTOCOLS } from '../support/mixed-calls.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { type ProxyMode, TcpProxy } from '../support/tcp-proxy.ts';
import { UsherProcess } from '../support/usher-process.ts';

const MODE_MS = quickOrLong(400, 30_000);
const REQUEST_TIMEOUT_MS = quickOrLong(400, 5_000);
const CALLERS = quickOrLong(9, 36);
const NORMAL_MS = quickOrLong(200, 3_000);
const PAUSE_MS = quickOrLong(20, 5);
const WARM_UP_MS = quickOrLong(300, 15_000);
/** How much later than its deadline a call may be answered. */
const SLACK_MS = 250;
/** How soon after a fault all is well again: a connection that has fallen silent is given up after that. */
const RECOVERY_MS = quickOrLong(1_000, 6_500);
const RECONNECTS_PER_SECOND = 10;
const GROWTH_MB = 64;
const WINDOWS = 5;

let database: TestDatabase;
let proxy: TcpProxy;
let usher: UsherProcess;
let calls: MixedCalls;
let memoryMb: number;

beforeAll(async () => {
  database = await cloneDatabase();
  proxy = await TcpProxy.open(database.url);
  usher = await UsherProcess.start(proxy.through(database.url), { REQUEST_TIMEOUT_MS: String(REQUEST_TIMEOUT_MS) });
  calls = new MixedCalls(usher, await createSubjects(usher));
  const load = startLoad(calls.over(...PROTOCOLS), { callers: CALLERS, pauseMs: PAUSE_MS });
  await sleep(WARM_UP_MS);
  await load.stop();
  memoryMb = usher.residentBytes() / 1e6;
});

afterAll(async () => {
  calls[Symbol.dispose]();
  await usher[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

test.for<{ mode: ProxyMode; is: string }>([
  { mode: 'reset', is: 'breaks every connection' },
  { mode: 'close', is: 'closes every connection' },
  { mode: 'freeze', is: 'is frozen' },
  { mode: 'trickle', is: 'lets through a byte a second' },
  { mode: 'delay', is: 'is far away' },
  ...quickOrLong(
    [],
    [
      { mode: 'pass' as const, is: 'is well' },
      { mode: 'refuse' as const, is: 'is gone' },
    ],
  ),
])(
  'while Postgres $is, no call waits past its deadline, and full speed follows',
  { retry: 1 },
  async ({ mode }, context) => {
    const load = startLoad(calls.over(...PROTOCOLS), { callers: CALLERS, pauseMs: PAUSE_MS });
    await sleep(NORMAL_MS);
    using lag = watchEventLoopLag();
    const changedAt = performance.now();
    const acceptedBefore = proxy.accepted;
    let longestWaitMs = 0;
    await proxy.setMode(mode);
    while (performance.now() < changedAt + MODE_MS) {
      await sleep(50);
      longestWaitMs = Math.max(longestWaitMs, ...load.waits());
    }
    const faultMs = performance.now() - changedAt;
    const reconnects = proxy.accepted - acceptedBefore;
    await proxy.setMode('pass');
    await sleep(RECOVERY_MS);
    const recoveredAt = performance.now();
    const before = speedOf(load.answers.filter((answer) => endOf(answer) < changedAt));
    let after = Number.POSITIVE_INFINITY;
    // The machine may be busy with something else just then.
    for (let window = 0; window < WINDOWS && !(after < 2 * before + 5); window++) {
      const from = performance.now();
      await sleep(NORMAL_MS);
      after = speedOf(load.answers.filter(({ startedAt }) => startedAt > from));
    }
    const answers = await load.stop();

    const odd = answers.filter(({ outcome }) => outcome !== 'ok' && outcome !== 'unavailable');
    const failed = answers.filter(({ startedAt, outcome }) => startedAt > recoveredAt && outcome !== 'ok');
    const longestMs = Math.max(longestWaitMs, longestOf(answers));
    const grownMb = usher.residentBytes() / 1e6 - memoryMb;
    report(context, {
      tried: `Postgres in mode ${mode} for ${MODE_MS} ms, ${answers.length} calls`,
      lost: `${odd.length} odd answers, ${failed.length} failed afterwards`,
      figures: `longest call ${longestMs.toFixed(0)} ms of ${REQUEST_TIMEOUT_MS} (the test itself ${lag.worstMs.toFixed(0)} ms late), ${reconnects} reconnects, first quartile before ${before.toFixed(1)} and after ${after.toFixed(1)} ms, memory ${grownMb.toFixed(0)} MB more`,
    });
    expect(odd).toEqual([]);
    expect(longestMs).toBeLessThan(REQUEST_TIMEOUT_MS + SLACK_MS + lag.worstMs);
    expect(reconnects).toBeLessThanOrEqual(Math.ceil((RECONNECTS_PER_SECOND * faultMs) / 1_000));
    expect(failed).toEqual([]);
    expect(after).toBeLessThan(2 * before + 5);
    expect(grownMb).toBeLessThan(GROWTH_MB);
    expect(usher.complaints).toBe('');
  },
);

/** The first quartile, in milliseconds: the machine's other work makes calls slower, never faster. */
function speedOf(answers: readonly Answer[]): number {
  const sorted = answers.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 4)] ?? Number.NaN;
}
