import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { watchEventLoopLag } from '../support/event-loop-lag.ts';
import { endOf, longestOf, startLoad } from '../support/load.ts';
import { createSubjects, MixedCalls, PROTOCOLS, undocumented } from '../support/mixed-calls.ts';
import { OwnPostgres } from '../support/own-postgres.ts';
import { startUsher } from '../support/process.ts';
import { quickOrLong, report } from '../support/soak.ts';

const KILLS = quickOrLong(1, 3);
const AWAY_MS = quickOrLong(2_500, 6_000);
const REQUEST_TIMEOUT_MS = quickOrLong(800, 5_000);
const CALLERS = quickOrLong(9, 36);
/** By how much a reply may miss its deadline on a busy machine. */
const SLACK_MS = quickOrLong(1_000, 250);
/** Limits from the moment that Postgres accepts connections again. */
const FIRST_SUCCESS_MS = quickOrLong(5_000, 1_000);
const RECOVERY_MS = quickOrLong(8_000, 3_000);
/** How long all calls must succeed for the service to count as recovered. */
const STEADY_MS = 1_000;

test('kill -9 of Postgres: every call gets a reply by its deadline, and service resumes when Postgres is back', async (context) => {
  await using postgres = await OwnPostgres.start();
  await using usher = await startUsher(postgres.url, { REQUEST_TIMEOUT_MS: String(REQUEST_TIMEOUT_MS) });
  using calls = new MixedCalls(usher, await createSubjects(usher));
  const load = startLoad(calls.over(...PROTOCOLS), { callers: CALLERS, pauseMs: 5 });
  await expect.poll(() => load.answers.length).toBeGreaterThan(100);

  using lag = watchEventLoopLag();
  const firstSuccesses: number[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    await postgres.kill();
    await sleep(AWAY_MS);
    expect(load.answers.at(-1)?.outcome).toBe('unavailable');
    await postgres.bringBack();
    const backAt = performance.now();
    const firstSuccess = () => load.answers.find((answer) => endOf(answer) > backAt && answer.outcome === 'ok');
    await expect.poll(firstSuccess, { timeout: FIRST_SUCCESS_MS, interval: 10 }).toBeDefined();
    firstSuccesses.push(...[firstSuccess()].flatMap((answer) => (answer ? endOf(answer) - backAt : [])));
    const hasBeenSteady = () => {
      const lastFailure = load.answers.findLast(({ outcome }) => outcome !== 'ok');
      return performance.now() - Math.max(backAt, lastFailure?.startedAt ?? 0) > STEADY_MS;
    };
    await expect.poll(hasBeenSteady, { timeout: RECOVERY_MS + STEADY_MS }).toBe(true);
  }
  const answers = await load.stop();

  const late = answers.filter(({ tookMs }) => tookMs > REQUEST_TIMEOUT_MS + SLACK_MS + lag.worstMs);
  report(context, {
    tried: `${KILLS} times kill -9 of Postgres, away for ${AWAY_MS} ms, ${answers.length} calls`,
    lost: `${undocumented(answers).length} undocumented replies, ${late.length} late`,
    figures: `first success ${firstSuccesses.map((ms) => ms.toFixed(0)).join(', ')} ms after Postgres accepts connections; longest call ${longestOf(answers).toFixed(0)} ms`,
  });
  expect(usher.isRunning, usher.errors).toBe(true);
  expect(undocumented(answers)).toEqual([]);
  expect(late).toEqual([]);
  expect(usher.errors).toBe('');
});
