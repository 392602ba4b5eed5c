/** While Postgres or the link to it fails, every call gets a documented reply by its deadline, and no write is lost. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { onServer } from '../../src/testing/on-server.ts';
import { type ProxyMode, TcpProxy } from '../../src/testing/tcp-proxy.ts';
import { watchEventLoopLag } from '../support/event-loop-lag.ts';
import { endOf, longestOf, quantileOf, startLoad } from '../support/load.ts';
import { holdLock } from '../support/lock.ts';
import { createSubjectsIn, MixedCalls, PROTOCOLS, undocumented } from '../support/mixed-calls.ts';
import { OwnPostgres } from '../support/own-postgres.ts';
import { startUsher } from '../support/process.ts';
import { quickOrLong, report } from '../support/soak.ts';

const FAULT_MS = quickOrLong(1_000, 30_000);
/** How long faults of all kinds come one after the other. */
const SOAK_MS = Number(process.env.SOAK_MINUTES ?? 10) * 60_000;
const REQUEST_TIMEOUT_MS = quickOrLong(500, 5_000);
const LOAD = { callers: quickOrLong(9, 36), pauseMs: quickOrLong(40, 5) };
const NORMAL_MS = quickOrLong(200, 3_000);
/** V8 takes more memory for the first 30,000 calls, faults or not. */
const WARM_UP_CALLS = quickOrLong(50, 40_000);
/** By how much a reply may miss its deadline on a busy machine. The long form, which alone judges times, has it. */
const SLACK_MS = 250;
/** The longest time from the end of the fault to the last failure; silent connections are given up after 6 s. */
const RECOVERY_MS = 6_500;
/** A call that has no answer by then, or fails until then, always does. */
const GIVE_UP_MS = 180_000;
const LONG = { timeout: SOAK_MS + 300_000 };
/** Eight for calls, and eight for the delivery of webhooks. */
const RECONNECTS_PER_SECOND = 16;
const GROWTH_MB = 64;
/**
 * The pool of eight, which may not be full before, the control connection to Postgres, and what opens for a moment. All
 * faults together make the service reconnect some 50 times, so that a file for each would be too much.
 */
const GROWTH_FILES = 12;
/** How many times the speed afterwards is measured: other work on the machine may slow calls. The short form measures none. */
const WINDOWS = quickOrLong(0, 5);

const TABLES = ['applications', 'api_keys', 'users', 'login_intents', 'sessions', 'webhooks', 'events', 'check_ins'];

const postgres = await OwnPostgres.start();
const proxy = await TcpProxy.open(postgres.url);
// Delivery would reconnect by a budget of its own.
const usher = await startUsher(proxy.through(postgres.url), {
  REQUEST_TIMEOUT_MS: String(REQUEST_TIMEOUT_MS),
  WEBHOOK_DELIVERY: 'false',
});
const filesBefore = usher.openFiles();
{
  using calls = new MixedCalls(usher, await createSubjectsIn(postgres.url));
  const load = startLoad(calls.over(...PROTOCOLS), LOAD);
  while (load.answers.length < WARM_UP_CALLS) await sleep(50);
  await load.stop();
}
const memoryMb = usher.residentBytes() / 1e6;

afterAll(async () => {
  await usher[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
});

/** Each lasts until the promise that its argument returns is settled. */
type Faults = Readonly<Record<string, (isOver: () => Promise<void>) => Promise<void>>>;

const failLink = (mode: ProxyMode) => async (isOver: () => Promise<void>) => {
  await proxy.setMode(mode);
  await isOver().finally(() => proxy.setMode('pass'));
};
const FAULTS: Faults = {
  'Postgres is killed with kill -9': async (isOver) => {
    await postgres.kill();
    await isOver().finally(() => postgres.bringBack());
  },
  'Postgres ends connections': (isOver) =>
    onServer(postgres.url, async (sql) => {
      let ended = 0;
      let goesOn = true;
      const over = isOver().finally(() => {
        goesOn = false;
      });
      for (; goesOn; await sleep(Math.random() * 200)) {
        const rows = await sql`
          select pg_terminate_backend(pid) from pg_stat_activity
          where application_name like 'usher %' order by random() limit 1`;
        ended += rows.length;
      }
      await over;
      expect(ended).toBeGreaterThan(0);
    }),
  'the link resets connections': failLink('reset'),
  'the link freezes': failLink('freeze'),
};
/** Only in the long form: the short one has a kind of each. */
const MORE_FAULTS: Faults = {
  'the link closes connections': failLink('close'),
  'the link passes a byte a second': failLink('trickle'),
  'the link adds latency': failLink('delay'),
  'the link refuses connections': failLink('refuse'),
  'a table is locked': (isOver) =>
    onServer(postgres.url, async (sql) => {
      await using _lock = await holdLock({ sql }, `lock table usher.${pick(TABLES)} in access exclusive mode`);
      await isOver();
    }),
};
const mixFaults = async () => {
  const faults = Object.values({ ...FAULTS, ...MORE_FAULTS });
  for (const endAt = performance.now() + SOAK_MS; performance.now() < endAt; await sleep(NORMAL_MS))
    await pick(faults)(() => sleep(500 + Math.random() * 5_500));
};

const all: Faults = {
  ...FAULTS,
  ...quickOrLong<Faults>({}, { ...MORE_FAULTS, 'any of these comes at random': mixFaults }),
};
const rows = Object.entries(all).map(([name, fail]) => ({ name, fail }));

test.for(rows)(
  'while $name, no call waits past its deadline, and calls succeed again',
  LONG,
  async ({ name, fail }, context) => {
    using calls = new MixedCalls(usher, await createSubjectsIn(postgres.url));
    const mixed = calls.over(...PROTOCOLS);
    const names = Object.keys(mixed);
    const load = startLoad(mixed, LOAD);
    // On a busy machine the first answers take longer.
    await expect.poll(() => load.answers.length, { timeout: GIVE_UP_MS }).toBeGreaterThan(20);
    await sleep(NORMAL_MS);
    using lag = watchEventLoopLag();
    const changedAt = performance.now();
    const acceptedBefore = proxy.accepted;
    let longestWaitMs = 0;
    const watching = setInterval(() => {
      longestWaitMs = Math.max(longestWaitMs, ...load.waits());
    }, 50);
    await fail(async () => {
      await sleep(FAULT_MS);
      // The calls of that moment are answered although the fault goes on.
      const seenAt = performance.now();
      const areAnswered = () => load.waits().every((waitedMs) => performance.now() - waitedMs > seenAt);
      await expect.poll(areAnswered, { timeout: GIVE_UP_MS }).toBe(true);
    }).finally(() => clearInterval(watching));
    const endedAt = performance.now();
    const faultMs = endedAt - changedAt;
    const reconnects = proxy.accepted - acceptedBefore;
    // On a busy machine some calls are late without any fault.
    const succeeded = () =>
      new Set(
        load.answers.flatMap(({ call, outcome, startedAt }) => (outcome === 'ok' && startedAt > endedAt ? call : [])),
      );
    await expect.poll(() => names.filter((name) => !succeeded().has(name)), { timeout: GIVE_UP_MS }).toEqual([]);
    const lastFailure = () => load.answers.findLast(({ outcome }) => outcome !== 'ok');
    if (quickOrLong(false, true)) {
      await expect
        .poll(() => performance.now() - Math.max(endedAt, lastFailure()?.startedAt ?? 0), { timeout: RECOVERY_MS })
        .toBeGreaterThan(1_000);
    }
    const answersBefore = load.answers.filter((answer) => endOf(answer) < changedAt);
    // Other work on the machine changes the first quartile least.
    const before = quantileOf(answersBefore, 0.25);
    let after = Number.POSITIVE_INFINITY;
    for (let window = 0; window < WINDOWS && !(after < 2 * before + 5); window++) {
      const from = performance.now();
      const recent = () => load.answers.filter(({ startedAt }) => startedAt > from);
      await sleep(NORMAL_MS);
      await expect.poll(() => recent().length, { timeout: RECOVERY_MS }).toBeGreaterThan(20);
      after = quantileOf(recent(), 0.25);
    }
    const answers = await load.stop();

    const firstSuccess = answers.find((answer) => endOf(answer) > endedAt && answer.outcome === 'ok');
    const longestMs = Math.max(longestWaitMs, longestOf(answers));
    const grownMb = usher.residentBytes() / 1e6 - memoryMb;
    const { writes, lost } = await onServer(postgres.url, (sql) => calls.findLost(sql));
    report(context, {
      tried: `${name} for ${Math.round(faultMs)} ms, ${answers.length} calls`,
      lost: `${undocumented(answers).length} undocumented replies, ${lost.length} of ${writes} acknowledged writes`,
      figures: `longest call ${longestMs.toFixed(0)} ms of ${REQUEST_TIMEOUT_MS} (event-loop lag of the test ${lag.worstMs.toFixed(0)} ms), first success after ${firstSuccess ? (endOf(firstSuccess) - endedAt).toFixed(0) : '?'} ms, ${reconnects} reconnects, first quartile before ${before.toFixed(1)} and after ${after.toFixed(1)} ms, memory +${grownMb.toFixed(0)} MB`,
    });
    expect(usher.isRunning, usher.errors).toBe(true);
    expect(undocumented(answers).slice(0, 10)).toEqual([]);
    expect(writes).toBeGreaterThan(0);
    expect(lost).toEqual([]);
    // A busy machine makes calls late without any fault, too.
    if (quickOrLong(false, true))
      expect(longestMs).toBeLessThan(REQUEST_TIMEOUT_MS + SLACK_MS + lag.worstMs + longestOf(answersBefore));
    expect(reconnects).toBeLessThanOrEqual(Math.ceil((RECONNECTS_PER_SECOND * faultMs) / 1_000));
    if (WINDOWS > 0) expect(after).toBeLessThan(2 * before + 5);
    // After few calls, memory depends on when the garbage was collected last.
    if (quickOrLong(false, true)) expect(grownMb).toBeLessThan(GROWTH_MB);
    expect(usher.errors).toBe('');
    calls[Symbol.dispose]();
    await expect.poll(() => usher.openFiles()).toBeLessThanOrEqual(filesBefore + GROWTH_FILES);
  },
);

function pick<T>(items: readonly T[]): T {
  return items[Math.floor(Math.random() * items.length)] as T;
}
