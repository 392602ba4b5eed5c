/**
 * A table that is locked, as by a migration of the operator, delays only the calls that need it. Only the long form has
 * the machine to itself, as deadlines and times need.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cloneDatabase, countConnections, type TestDatabase } from '../support/database.ts';
import { watchEventLoopLag } from '../support/event-loop-lag.ts';
import { type Answer, endOf, type Load, longestOf, quantileOf, startLoad } from '../support/load.ts';
import { holdLock, waitForLockWaiters } from '../support/lock.ts';
import { createSubjects, createSubjectsIn, MixedCalls, undocumented } from '../support/mixed-calls.ts';
import { startUsher, type UsherProcess } from '../support/process.ts';
import { startTestService } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const LOCK_MS = 10_000;
const REQUEST_TIMEOUT_MS = 5_000;
const NORMAL_MS = 3_000;
const CALLERS_PER_CALL = 6;
/** By how much a reply may miss its deadline on a busy machine. */
const SLACK_MS = 1_000;
const CONNECTIONS = 4;
/** Reads have half as many. */
const ALL_CONNECTIONS = CONNECTIONS + CONNECTIONS / 2;
const MAX_ISOLATED_CONNECTIONS = 8;
/** While the tables of the API keys are locked, known keys work at least this long. */
const KEY_CACHE_MS = 2_000;

interface LockedTable {
  readonly table: string;
  /** The calls that need it. */
  readonly needs: readonly string[];
  /** Every call needs it once its key is no longer cached. */
  readonly isOfKeys?: boolean;
}

const TABLES: readonly LockedTable[] = [
  // A completed login intent refers to a user.
  { table: 'users', needs: ['GenerateAuthUrl', 'ExchangeToken', 'GetWebhook', 'CreateWebhook'] },
  { table: 'events', needs: ['CreateEvent', 'CheckIn', 'DeleteEvent'] },
  ...quickOrLong<LockedTable[]>(
    [],
    [
      { table: 'applications', needs: ['GenerateAuthUrl', 'CreateEvent', 'CreateWebhook'], isOfKeys: true },
      { table: 'api_keys', needs: [], isOfKeys: true },
      { table: 'login_intents', needs: ['GenerateAuthUrl'] },
      { table: 'sessions', needs: ['ExchangeToken'] },
      {
        table: 'webhooks',
        needs: ['GetWebhook', 'CreateWebhook', 'CreateEvent', 'CheckIn', 'DeleteEvent', 'ExchangeToken'],
      },
      { table: 'check_ins', needs: ['CheckIn'] },
      { table: 'login_codes', needs: [] },
      { table: 'wallet_challenges', needs: [] },
      { table: 'rate_limits', needs: [] },
    ],
  ),
];

test.for(TABLES.filter(({ isOfKeys, needs }) => !isOfKeys && needs.length > 0))(
  'while $table is locked, other calls succeed, and so do those that need it once it is released',
  async ({ table, needs }) => {
    await using service = await startTestService({ config: { databaseConnections: CONNECTIONS } });
    using calls = new MixedCalls(service, await createSubjects(service));
    const all = Object.entries(calls.over('Connect'));
    const doesNeed = ([name]: readonly [string, unknown]) => needs.some((needed) => name.startsWith(`${needed},`));
    const callEach = (entries: typeof all) =>
      Promise.all(entries.map(async ([name, call]) => ({ name, outcome: await call() })));
    const successesOf = (entries: typeof all) => entries.map(([name]) => ({ name, outcome: 'ok' }));
    const needing = all.filter(doesNeed);
    const others = all.filter((entry) => !doesNeed(entry));
    expect(await callEach(all)).toEqual(successesOf(all));

    const lock = await holdLock(service.database, `lock table ${table} in access exclusive mode`);
    // More than there are connections that all statements share.
    const crowd = Array.from({ length: ALL_CONNECTIONS }, () => needing).flat();
    const waiting = callEach(crowd);
    // Statements of one application: as many as there are connections for such.
    await waitForLockWaiters(service.database, Math.min(needing.length, 4));
    for (let round = 0; round < 3; round++) expect(await callEach(others)).toEqual(successesOf(others));
    await lock.release();
    expect(await waiting).toEqual(successesOf(crowd));
  },
);

describe.runIf(quickOrLong(false, true))('under load', () => {
  let database: TestDatabase;
  let usher: UsherProcess;
  let calls: MixedCalls;

  beforeAll(async () => {
    database = await cloneDatabase();
    usher = await startUsher(database.url, {
      REQUEST_TIMEOUT_MS: String(REQUEST_TIMEOUT_MS),
      DATABASE_CONNECTIONS: String(CONNECTIONS),
      WEBHOOK_DELIVERY: 'false',
    });
    calls = new MixedCalls(usher, await createSubjectsIn(database.url));
    await Promise.all(Object.values(calls.over('Connect')).map((call) => call()));
  });
  afterAll(async () => {
    calls?.[Symbol.dispose]();
    await usher?.[Symbol.asyncDispose]();
    await database?.[Symbol.asyncDispose]();
  });

  test.for(TABLES)(
    'while $table is locked, calls that need it end by their deadline, and other calls go on',
    async (locked, context) => {
      const { answers, failed, late, before, during, connections } = await lockDuringLoad({ database, calls }, locked);
      report(context, {
        tried: `${locked.table} locked for ${LOCK_MS} ms, ${answers.length} calls`,
        lost: `${late.length} late`,
        figures: `other calls before: ${describeSpeed(before)}; during: ${describeSpeed(during)}; at most ${connections} connections`,
      });
      expect(undocumented(answers)).toEqual([]);
      expect(failed).toEqual([]);
      expect(connections).toBeLessThanOrEqual(ALL_CONNECTIONS + MAX_ISOLATED_CONNECTIONS + 1);
      expect(late).toEqual([]);
      // Other work on the machine may slow a few calls down.
      for (const part of [0.5, 0.9]) expect(quantileOf(during, part)).toBeLessThan(2 * quantileOf(before, part) + 5);
    },
  );

  test('once all locks are released, there are as many connections as before, and the control connection', async () => {
    await expect.poll(() => countConnections(database)).toBeLessThanOrEqual(ALL_CONNECTIONS + 1);
    expect(usher.errors).toBe('');
  });
});

/** Locks the table while every call is made, and returns the answers, those of other calls by phase. */
async function lockDuringLoad(
  { database, calls }: { database: TestDatabase; calls: MixedCalls },
  { table, needs, isOfKeys = false }: LockedTable,
) {
  const loads = Object.entries(calls.over('Connect')).map(([name, call]) =>
    startLoad({ [name]: call }, { callers: CALLERS_PER_CALL, pauseMs: 5 }),
  );
  await sleep(NORMAL_MS);
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
  // Every kind of call has succeeded since, as its last answer.
  const isRecovered = ({ answers }: Load) => {
    const last = answers.at(-1);
    return last?.outcome === 'ok' && last.startedAt > releasedAt;
  };
  await expect.poll(() => loads.every(isRecovered)).toBe(true);
  const answers = (await Promise.all(loads.map((load) => load.stop()))).flat();

  const countsUntil = isOfKeys ? Math.min(releasedAt, lockedAt + KEY_CACHE_MS) : releasedAt;
  const others = answers.filter(({ call }) => !needs.some((name) => call.startsWith(`${name},`)));
  // A busy machine makes calls late without any lock, too.
  const limitMs =
    REQUEST_TIMEOUT_MS + SLACK_MS + lag.worstMs + longestOf(answers.filter((answer) => endOf(answer) < lockedAt));
  const during = others.filter((answer) => endOf(answer) >= lockedAt && endOf(answer) < countsUntil);
  return {
    answers,
    connections,
    during,
    before: others.filter((answer) => endOf(answer) < lockedAt),
    failed: during.filter(({ outcome }) => outcome !== 'ok'),
    late: answers.filter(({ tookMs }) => tookMs > limitMs),
  };
}

function describeSpeed(answers: readonly Answer[]): string {
  const [p50, p99] = [0.5, 0.99].map((part) => quantileOf(answers, part).toFixed(1));
  return `p50 ${p50}, p99 ${p99} ms (${answers.length})`;
}
