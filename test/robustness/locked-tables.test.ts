import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cloneDatabase, countConnections, type TestDatabase } from '../support/database.ts';
import { watchEventLoopLag } from '../support/event-loop-lag.ts';
import { type Answer, endOf, type Load, startLoad } from '../support/load.ts';
import { holdLock } from '../support/lock.ts';
import { createSubjects, MixedCalls } from '../support/mixed-calls.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { UsherProcess } from '../support/usher-process.ts';

const LOCK_MS = quickOrLong(1_200, 10_000);
const REQUEST_TIMEOUT_MS = quickOrLong(600, 5_000);
const BEFORE_MS = quickOrLong(500, 3_000);
const CALLERS_PER_CALL = quickOrLong(2, 6);
/** For how much of the lock speed does not count: each kind of statement that needs the table is found out once. */
const SETTLE_MS = quickOrLong(600, 0);
/** How much later than its deadline a call may be answered. */
const SLACK_MS = 250;
const CONNECTIONS = 4;
const MAX_SIDINGS = 8;
/** While the tables of the API keys are locked, keys are known for that long at least. */
const TRUST_MS = 2_000;

/** Which calls need a table. Those of the keys are needed by every call, once the keys are not known any more. */
const TABLES: readonly { table: string; needs: readonly string[]; isOfKeys?: true }[] = [
  // A login intent refers to a user once it is completed.
  { table: 'users', needs: ['GenerateAuthUrl', 'ExchangeToken', 'GetWebhook', 'CreateWebhook'] },
  { table: 'events', needs: ['CreateEvent', 'CheckIn', 'DeleteEvent'] },
  { table: 'login_intents', needs: ['GenerateAuthUrl'] },
  { table: 'applications', needs: ['GenerateAuthUrl', 'CreateEvent', 'CreateWebhook'], isOfKeys: true },
  ...quickOrLong(
    [],
    [
      { table: 'api_keys', needs: [], isOfKeys: true as const },
      { table: 'sessions', needs: ['ExchangeToken'] },
      { table: 'webhooks', needs: ['GetWebhook', 'CreateWebhook'] },
      { table: 'check_ins', needs: ['CheckIn'] },
      { table: 'login_codes', needs: [] },
      { table: 'wallet_challenges', needs: [] },
      { table: 'rate_limits', needs: [] },
    ],
  ),
];

let database: TestDatabase;
let usher: UsherProcess;
let calls: MixedCalls;

beforeAll(async () => {
  database = await cloneDatabase();
  usher = await UsherProcess.start(database.url, {
    REQUEST_TIMEOUT_MS: String(REQUEST_TIMEOUT_MS),
    DATABASE_CONNECTIONS: String(CONNECTIONS),
  });
  calls = new MixedCalls(usher, await createSubjects(usher));
  await Promise.all(Object.values(calls.over('Connect')).map((call) => call()));
});

afterAll(async () => {
  calls[Symbol.dispose]();
  await usher[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

test.for(TABLES)(
  'while $table is locked, calls that need it end by their deadline, and the others keep their speed',
  {
    // The machine may be busy with something else just then.
    retry: 1,
  },
  async ({ table, needs, isOfKeys = false }, context) => {
    const loads = Object.entries(calls.over('Connect')).map(([name, call]) =>
      startLoad({ [name]: call }, { callers: CALLERS_PER_CALL, pauseMs: 5 }),
    );
    await sleep(BEFORE_MS);
    using lag = watchEventLoopLag();
    const lockedAt = performance.now();
    let connections = 0;
    {
      await using _lock = await holdLock(database, `lock table ${table} in access exclusive mode`);
      while (performance.now() < lockedAt + LOCK_MS) {
        await sleep(100);
        connections = Math.max(connections, await countConnections(database));
      }
    }
    const releasedAt = performance.now();
    await sleep(BEFORE_MS);
    const answers = await stopAll(loads);

    const countsUntil = isOfKeys ? Math.min(releasedAt, lockedAt + TRUST_MS) : releasedAt;
    const isOther = ({ call }: Answer) => !needs.some((name) => call.startsWith(`${name},`));
    const others = answers.filter(isOther);
    const before = others.filter((answer) => endOf(answer) < lockedAt);
    const during = others.filter((answer) => endOf(answer) >= lockedAt && endOf(answer) < countsUntil);
    const settled = during.filter(({ startedAt }) => startedAt > lockedAt + SETTLE_MS);
    const failed = during.filter(({ outcome }) => outcome !== 'ok');
    const late = answers.filter(({ tookMs }) => tookMs > REQUEST_TIMEOUT_MS + SLACK_MS + lag.worstMs);
    const odd = answers.filter(({ outcome }) => outcome !== 'ok' && outcome !== 'unavailable');
    const after = answers.filter((answer) => answer.startedAt > releasedAt + SLACK_MS && answer.outcome !== 'ok');
    report(context, {
      tried: `${table} locked for ${LOCK_MS} ms, ${answers.length} calls`,
      lost: `${failed.length} failed of the others, ${late.length} late, ${odd.length} odd answers, ${after.length} failed afterwards`,
      figures: `the others before: ${describeSpeed(before)}; during: ${describeSpeed(during)}; at most ${connections} connections`,
    });
    expect(failed).toEqual([]);
    expect(late).toEqual([]);
    expect(odd).toEqual([]);
    expect(after).toEqual([]);
    // They get more of the machine's time, while the calls that need the table make no use of it.
    expect(percentile(settled, 50)).toBeLessThan(2 * percentile(before, 50) + 5);
    expect(percentile(settled, 99)).toBeLessThan(percentile(before, 99) + SLACK_MS);
    expect(connections).toBeLessThanOrEqual(CONNECTIONS + MAX_SIDINGS + 1);
  },
);

test('once all locks are gone, there are as many connections as before, and one that looks out for locks', async () => {
  await expect.poll(() => countConnections(database)).toBeLessThanOrEqual(CONNECTIONS + 1);
  expect(usher.complaints).toBe('');
});

async function stopAll(loads: readonly Load[]): Promise<Answer[]> {
  const answers = await Promise.all(loads.map((load) => load.stop()));
  return answers.flat();
}

function describeSpeed(answers: readonly Answer[]): string {
  const [p50, p99] = [50, 99].map((percent) => percentile(answers, percent).toFixed(1));
  return `p50 ${p50}, p99 ${p99} ms (${answers.length})`;
}

function percentile(answers: readonly Answer[], percent: number): number {
  const sorted = answers.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  return sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? Number.NaN;
}
