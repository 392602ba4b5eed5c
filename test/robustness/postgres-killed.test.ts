import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { watchEventLoopLag } from '../support/event-loop-lag.ts';
import { endOf, longestOf, startLoad } from '../support/load.ts';
import { createSubjects, MixedCalls, PROTOCOLS } from '../support/mixed-calls.ts';
import { OwnPostgres } from '../support/own-postgres.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { UsherProcess } from '../support/usher-process.ts';

const KILLS = quickOrLong(1, 3);
const AWAY_MS = quickOrLong(1_500, 6_000);
const REQUEST_TIMEOUT_MS = quickOrLong(800, 5_000);
const CALLERS = quickOrLong(9, 36);
/** How much later than its deadline a call may be answered. */
const SLACK_MS = 250;
const FIRST_SUCCESS_MS = 1_000;
/** How soon after Postgres has come back nothing tells of it any more. */
const RECOVERY_MS = 3_000;
/** Slow is what takes longer than this, and three times as long as anything before the first kill. */
const SLOW_MS = 500;

test('kill -9 of Postgres under load: every call is answered in time, and full service follows', {
  retry: 1,
}, async (context) => {
  await using postgres = await OwnPostgres.start();
  await using usher = await UsherProcess.start(postgres.url, { REQUEST_TIMEOUT_MS: String(REQUEST_TIMEOUT_MS) });
  using calls = new MixedCalls(usher, await createSubjects(usher));
  const load = startLoad(calls.over(...PROTOCOLS), { callers: CALLERS, pauseMs: 5 });
  await sleep(quickOrLong(500, 3_000));
  const slowMs = Math.max(SLOW_MS, 3 * longestOf(load.answers));

  using lag = watchEventLoopLag();
  const firstSuccesses: number[] = [];
  const settled: { from: number; until: number }[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    await postgres.kill();
    await sleep(AWAY_MS);
    expect(load.answers.at(-1)?.outcome).toBe('unavailable');
    await postgres.bringBack();
    const backAt = performance.now();
    await sleep(RECOVERY_MS + quickOrLong(500, 3_000));
    const first = load.answers.find((answer) => endOf(answer) > backAt && answer.outcome === 'ok');
    firstSuccesses.push(first ? endOf(first) - backAt : Number.POSITIVE_INFINITY);
    settled.push({ from: backAt + RECOVERY_MS, until: performance.now() });
  }
  const answers = await load.stop();

  const odd = answers.filter(({ outcome }) => outcome !== 'ok' && outcome !== 'unavailable');
  const late = answers.filter(({ tookMs }) => tookMs > REQUEST_TIMEOUT_MS + SLACK_MS + lag.worstMs);
  const slow = answers.filter(
    (answer) =>
      settled.some(({ from, until }) => answer.startedAt > from && answer.startedAt < until) &&
      (answer.tookMs > slowMs || answer.outcome !== 'ok'),
  );
  report(context, {
    tried: `${KILLS} times kill -9 of Postgres, away for ${AWAY_MS} ms, ${answers.length} calls`,
    lost: `${odd.length} odd answers, ${late.length} late, ${slow.length} slow or failed after ${RECOVERY_MS} ms`,
    figures: `first success ${firstSuccesses.map((ms) => ms.toFixed(0)).join(', ')} ms after Postgres accepts connections; longest call ${longestOf(answers).toFixed(0)} ms`,
  });
  expect(usher.isRunning, usher.complaints).toBe(true);
  expect(odd).toEqual([]);
  expect(late).toEqual([]);
  expect(slow).toEqual([]);
  expect(Math.max(...firstSuccesses)).toBeLessThan(FIRST_SUCCESS_MS);
  expect(usher.complaints).toBe('');
});
