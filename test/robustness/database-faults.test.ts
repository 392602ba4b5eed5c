/** While Postgres is down or the link to it is broken, every call gets a documented reply by its deadline. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { watchEventLoopLag } from '../support/event-loop-lag.ts';
import { type Answer, endOf, longestOf, startLoad } from '../support/load.ts';
import { createSubjectsIn, MixedCalls, PROTOCOLS, undocumented } from '../support/mixed-calls.ts';
import { OwnPostgres } from '../support/own-postgres.ts';
import { startUsher } from '../support/process.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { type ProxyMode, TcpProxy } from '../support/tcp-proxy.ts';

const FAULT_MS = quickOrLong(2_000, 30_000);
const REQUEST_TIMEOUT_MS = quickOrLong(500, 5_000);
const LOAD = { callers: quickOrLong(9, 36), pauseMs: quickOrLong(20, 5) };
const NORMAL_MS = quickOrLong(200, 3_000);
/** V8 takes more memory for the first 30,000 calls, faults or not. */
const WARM_UP_CALLS = quickOrLong(50, 40_000);
/** By how much a reply may miss its deadline on a busy machine. */
const SLACK_MS = quickOrLong(1_000, 250);
/** The longest time from the end of the fault to the last failure; silent connections are given up after 6 s. */
const RECOVERY_MS = quickOrLong(10_000, 6_500);
const RECONNECTS_PER_SECOND = 10;
const GROWTH_MB = 64;
/** How many times the speed afterwards is measured: other work on the machine may slow calls. The short form measures none. */
const WINDOWS = quickOrLong(0, 5);

const postgres = await OwnPostgres.start();
const proxy = await TcpProxy.open(postgres.url);
// Delivery would reconnect by a budget of its own.
const usher = await startUsher(proxy.through(postgres.url), {
  REQUEST_TIMEOUT_MS: String(REQUEST_TIMEOUT_MS),
  WEBHOOK_DELIVERY: 'false',
});
const calls = new MixedCalls(usher, await createSubjectsIn(postgres.url));
const load = startLoad(calls.over(...PROTOCOLS), LOAD);
while (load.answers.length < WARM_UP_CALLS) await sleep(50);
await load.stop();
const memoryMb = usher.residentBytes() / 1e6;

afterAll(async () => {
  calls[Symbol.dispose]();
  await usher[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
});

const link = (mode: ProxyMode, name: string) => ({
  name,
  begin: () => proxy.setMode(mode),
  end: () => proxy.setMode('pass'),
});
const faults = [
  { name: 'Postgres is killed with kill -9', begin: () => postgres.kill(), end: () => postgres.bringBack() },
  link('reset', 'the link resets connections'),
  link('close', 'the link closes connections'),
  link('freeze', 'the link freezes'),
  link('trickle', 'the link passes a byte a second'),
  link('delay', 'the link adds latency'),
  ...quickOrLong([], [link('refuse', 'the link refuses connections')]),
];

test.for(faults)('while $name, no call waits past its deadline, and calls succeed again', async (fault, context) => {
  const load = startLoad(calls.over(...PROTOCOLS), LOAD);
  // On a busy machine the first answers take longer.
  await expect.poll(() => load.answers.length, { timeout: RECOVERY_MS }).toBeGreaterThan(20);
  await sleep(NORMAL_MS);
  using lag = watchEventLoopLag();
  const changedAt = performance.now();
  const acceptedBefore = proxy.accepted;
  let longestWaitMs = 0;
  await fault.begin();
  while (performance.now() < changedAt + FAULT_MS) {
    await sleep(50);
    longestWaitMs = Math.max(longestWaitMs, ...load.waits());
  }
  const faultMs = performance.now() - changedAt;
  const reconnects = proxy.accepted - acceptedBefore;
  await fault.end();
  const endedAt = performance.now();
  const lastFailure = () => load.answers.findLast(({ outcome }) => outcome !== 'ok');
  await expect
    .poll(() => performance.now() - Math.max(endedAt, lastFailure()?.startedAt ?? 0), { timeout: RECOVERY_MS })
    .toBeGreaterThan(1_000);
  const answersBefore = load.answers.filter((answer) => endOf(answer) < changedAt);
  const [before, longestBeforeMs] = [firstQuartile(answersBefore), longestOf(answersBefore)];
  let after = Number.POSITIVE_INFINITY;
  for (let window = 0; window < WINDOWS && !(after < 2 * before + 5); window++) {
    const from = performance.now();
    const recent = () => load.answers.filter(({ startedAt }) => startedAt > from);
    await sleep(NORMAL_MS);
    await expect.poll(() => recent().length, { timeout: RECOVERY_MS }).toBeGreaterThan(20);
    after = firstQuartile(recent());
  }
  const answers = await load.stop();

  const firstSuccess = answers.find((answer) => endOf(answer) > endedAt && answer.outcome === 'ok');
  const longestMs = Math.max(longestWaitMs, longestOf(answers));
  const grownMb = usher.residentBytes() / 1e6 - memoryMb;
  report(context, {
    tried: `${fault.name} for ${FAULT_MS} ms, ${answers.length} calls`,
    lost: `${undocumented(answers).length} undocumented replies`,
    figures: `longest call ${longestMs.toFixed(0)} ms of ${REQUEST_TIMEOUT_MS} (event-loop lag of the test ${lag.worstMs.toFixed(0)} ms), first success after ${firstSuccess ? (endOf(firstSuccess) - endedAt).toFixed(0) : '?'} ms, ${reconnects} reconnects, first quartile before ${before.toFixed(1)} and after ${after.toFixed(1)} ms, memory +${grownMb.toFixed(0)} MB`,
  });
  expect(usher.isRunning, usher.errors).toBe(true);
  expect(undocumented(answers)).toEqual([]);
  // A busy machine makes calls late without any fault, too.
  expect(longestMs).toBeLessThan(REQUEST_TIMEOUT_MS + SLACK_MS + lag.worstMs + longestBeforeMs);
  expect(reconnects).toBeLessThanOrEqual(Math.ceil((RECONNECTS_PER_SECOND * faultMs) / 1_000));
  if (WINDOWS > 0) expect(after).toBeLessThan(2 * before + 5);
  expect(grownMb).toBeLessThan(GROWTH_MB);
  expect(usher.errors).toBe('');
});

/** Returns the first quartile in milliseconds, which other work on the machine changes least. */
function firstQuartile(answers: readonly Answer[]): number {
  const sorted = answers.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 4)] ?? Number.NaN;
}
