import { openClient } from '../../../src/database/open-client.ts';
import { alternate } from '../alternate.ts';
import { type BenchCall, createCalls } from '../calls.ts';
import type { Fixtures } from '../fixtures.ts';
import { prepareRequests } from '../load/prepare-requests.ts';
import { measureLoad } from '../measure-load.ts';
import { grpc } from '../protocols/grpc.ts';
import { rest } from '../protocols/rest.ts';
import { readUsage } from '../read-usage.ts';
import { layOutTable } from '../report/lay-out-table.ts';
import type { Progress } from '../run-bench.ts';
import type { RunningServer } from '../start-server.ts';
import { medianOf } from '../statistics.ts';
import type { BulkOptions } from './seed-bulk.ts';

export interface Size extends BulkOptions {
  readonly server: RunningServer;
  readonly databaseUrl: string;
}

interface Costs {
  readonly cpuMicros: number;
  readonly p50Ms: number;
  /** CPU time of the Postgres backends per request. */
  readonly postgresMicros: number;
}

/** The largest ratio of the cost with many rows to that with few. */
const LIMIT = 1.2;
const REQUESTS = 2_000;
/** An event can be deleted only once, and half of the few rows must last for all rounds. */
const DELETIONS = 300;
/** Small, so that calls do not wait in a queue. */
const CONCURRENCY = 4;
const MAX_SECONDS = 20;
/** A prime that is no factor of the numbers of rows. Its multiples are spread over the tables. */
const STEP = 7_368_787;

/** Makes the same calls with few and with many rows in turn, and prints a table. Returns whether every call meets the limit. */
export async function compareSizes(
  sizes: readonly Size[],
  { fixtures, rounds, progress }: { fixtures: Fixtures; rounds: number; progress: Progress },
): Promise<boolean> {
  const names = createCalls(fixtures).map(({ name }) => name);
  const measured = names.filter((name) => name !== 'ExchangeToken first');
  const costs = new Map(measured.map((name) => [name, sizes.map((): Costs[] => [])]));
  for (let round = 0; round <= rounds; round++) {
    progress(`round ${round} of ${rounds} (${Math.round(performance.now() / 1000)} s)`);
    for (const name of measured) {
      for (const [index, size] of alternate(sizes, round)) {
        const cost = await measureCall(size, fixtures, { name, round });
        // The first round is the warm-up.
        if (round > 0) costs.get(name)?.[index]?.push(cost);
      }
    }
  }

  const rows = measured.map((name) => [name, ...describe(costs.get(name) ?? [])]);
  const header = ['', 'CPU us, few', 'many', '', 'p50 ms, few', 'many', '', 'Postgres us, few', 'many', ''];
  process.stdout.write(layOutTable(header, rows));
  return measured.every((name) => isWithin(costs.get(name) ?? []));
}

async function measureCall(
  size: Size,
  fixtures: Fixtures,
  { name, round }: { name: string; round: number },
): Promise<Costs> {
  const call = scattered(size, fixtures, name);
  const protocol = name === 'CheckIn' ? grpc : rest;
  const count = name === 'DeleteEvent' ? DELETIONS : REQUESTS;
  const headers = { 'x-api-key': fixtures.apiKey };
  const requests = prepareRequests(protocol, call, { count, firstNumber: round * count, headers });
  const backends = await backendsOf(size);
  const usage = () => backends.reduce((sum, pid) => sum + readUsage(pid).cpuMicros, 0);
  const before = usage();
  const limits = { maxSeconds: MAX_SECONDS, concurrency: CONCURRENCY };
  const { load, measurement } = await measureLoad(size.server, protocol, requests, limits);
  if (load.failure) throw new Error(`${call.name}: ${load.failure}`);
  return { ...measurement, postgresMicros: (usage() - before) / load.requests };
}

/** Returns the call with examples from all over its table. */
function scattered({ rows, stride }: Size, fixtures: Fixtures, name: string): BenchCall {
  const half = rows / 2;
  const call = createCalls(fixtures, { openEvents: half }).find((call) => call.name === name);
  if (!call) throw new Error(`There is no ${name}`);
  const rowOf: Record<string, (number: number) => number> = {
    GetWebhook: (number) => ((number * STEP) % Math.floor(rows / stride)) * stride,
    DeleteEvent: (number) => (number * STEP) % half,
    CheckIn: (number) => number * STEP,
  };
  const row = rowOf[name];
  if (!row) return call;
  return { name, method: call.method, exampleAt: (number) => call.exampleAt(row(number)) };
}

/** Returns the IDs of the Postgres processes that serve this Usher. */
async function backendsOf({ databaseUrl }: Size): Promise<number[]> {
  const sql = openClient(databaseUrl, { max: 1 });
  const rows = await sql`
    select pid from pg_stat_activity where datname = current_database() and application_name like 'usher %'`;
  await sql.end();
  return rows.map(({ pid }) => pid);
}

const METRICS = ['cpuMicros', 'p50Ms', 'postgresMicros'] as const;

function describe([few = [], many = []]: readonly (readonly Costs[])[]): string[] {
  return METRICS.flatMap((metric) => {
    const digits = metric === 'p50Ms' ? 2 : 0;
    const shown = [few, many].map((costs) => medianOf(costs.map((cost) => cost[metric])).toFixed(digits));
    return [...shown, `${ratioOf(few, many, metric).toFixed(2)}x`];
  });
}

function isWithin([few = [], many = []]: readonly (readonly Costs[])[]): boolean {
  return ratioOf(few, many, 'cpuMicros') <= LIMIT && ratioOf(few, many, 'p50Ms') <= LIMIT;
}

/** Round by round, since a busy machine is busy for both of a round. */
function ratioOf(few: readonly Costs[], many: readonly Costs[], metric: (typeof METRICS)[number]): number {
  return medianOf(few.map((cost, round) => (many[round]?.[metric] ?? Number.NaN) / cost[metric]));
}
