import { openClient } from '../../../../src/database/connection/open-client.ts';
import { findCall } from '../calls.ts';
import { UsageError } from '../command-line.ts';
import { type Measurement, measureCall } from '../measure-load.ts';
import { rest } from '../protocols.ts';
import { layOutTable } from '../report/lay-out-table.ts';
import type { Progress } from '../run-bench.ts';
import { startUsher } from '../set-up.ts';
import { medianOf } from '../statistics.ts';
import { seedExpiredIntents } from './seed-bulk.ts';
import { seedDatabases } from './seed-databases.ts';

const CALLS = ['GetWebhook', 'ExchangeToken again', 'GenerateAuthUrl'];
const CONCURRENCY = 4;
/** V8 compiles until some 30,000 requests have been served. */
const WARM_UP_ROUNDS = 6;
/** What 10^9 logins a day leave behind: an intent and a session each. */
const LEAST_PER_SECOND = 25_000;
/** The largest ratio of p50 during the job to p50 after it. */
const LIMIT = 1.2;
const MAX_ROUNDS = 20;

/** Compares the cost of calls while the expiry job removes login intents to that afterwards, and counts what it removes. */
export async function measureExpiry(
  stack: AsyncDisposableStack,
  progress: Progress,
  { rows, requests: count }: { rows: number; requests: number },
): Promise<boolean> {
  const { urls, ...seeded } = await seedDatabases(stack, progress, {
    expired: (url, fixtures) => seedExpiredIntents(url, fixtures, rows),
  });
  const [databaseUrl = ''] = urls;
  const sql = openClient(databaseUrl, { max: 1 });
  stack.defer(() => sql.end());
  const readTable = async () => {
    const [row] = await sql`
      select n_tup_del::int as removed, n_dead_tup::int as dead from pg_stat_user_tables where relname = 'login_intents'`;
    return { at: performance.now(), removed: Number(row?.removed), dead: Number(row?.dead) };
  };

  const server = await startUsher(stack, { ...seeded, databaseUrl });
  const measureRound = async (round: number): Promise<Round> => {
    const { fixtures } = seeded;
    const settings = { concurrency: CONCURRENCY, apiKey: fixtures.apiKey, round, count };
    const measured = new Map<string, Measurement>();
    for (const name of CALLS)
      measured.set(name, await measureCall({ server, sql }, rest, findCall(fixtures, name), settings));
    return measured;
  };
  const states = [await readTable()];
  const during: Round[] = [];
  const after: Round[] = [];
  for (let round = 0; ; round++) {
    const measured = await measureRound(round);
    const state = await readTable();
    progress(`${state.removed} removed, ${state.dead} dead`);
    if (state.removed >= rows) break;
    states.push(state);
    if (round >= WARM_UP_ROUNDS) during.push(measured);
  }
  if (during.length === 0)
    throw new UsageError(`--rows ${rows} are too few: they were removed while the server warmed up`);
  for (let round = 0; round < Math.min(MAX_ROUNDS, during.length); round++) {
    after.push(await measureRound(round));
  }

  const [first, last] = [states[0], states.at(-1)];
  const perSecond = first && last ? ((last.removed - first.removed) / (last.at - first.at)) * 1_000 : Number.NaN;
  const dead = Math.max(...states.map((state) => state.dead));
  const table = CALLS.map((name) => [name, ...describe(name, after, during)]);
  const header = ['', 'p50 ms, after', 'during', '', 'p99 ms, after', 'during', '', 'CPU us, after', 'during', ''];
  process.stdout.write(`${layOutTable(header, table)}
${Math.round(perSecond)} intents removed per second, ${dead} of them not vacuumed at most\n`);
  const isQuick = CALLS.every((name) => medianIn(during, name, 'p50Ms') <= LIMIT * medianIn(after, name, 'p50Ms'));
  return isQuick && perSecond >= LEAST_PER_SECOND;
}

type Round = ReadonlyMap<string, Measurement>;

function describe(name: string, after: readonly Round[], during: readonly Round[]): string[] {
  return (['p50Ms', 'p99Ms', 'cpuMicros'] as const).flatMap((metric) => {
    const [without = 0, withJob = 0] = [after, during].map((rounds) => medianIn(rounds, name, metric));
    const digits = metric === 'cpuMicros' ? 0 : 2;
    return [without.toFixed(digits), withJob.toFixed(digits), `${(withJob / without).toFixed(2)}x`];
  });
}

function medianIn(rounds: readonly Round[], name: string, metric: keyof Measurement): number {
  return medianOf(rounds.map((round) => round.get(name)?.[metric] ?? Number.NaN));
}
