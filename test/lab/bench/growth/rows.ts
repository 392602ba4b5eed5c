import type postgres from 'postgres';
import { openClient } from '../../../../src/database/connection/open-client.ts';
import { type BenchCall, createCalls, findCall } from '../calls.ts';
import type { Fixtures } from '../fixtures.ts';
import { measureCall } from '../measure-load.ts';
import { measureRounds } from '../measure-rounds.ts';
import { grpc, rest } from '../protocols.ts';
import { layOutTable } from '../report/lay-out-table.ts';
import type { Progress } from '../run-bench.ts';
import { startUsher } from '../set-up.ts';
import type { RunningServer } from '../start-server.ts';
import { medianOf, ratiosOf } from '../statistics.ts';
import { seedBulk, strideOf } from './seed-bulk.ts';
import { seedDatabases } from './seed-databases.ts';

const FEW = 10_000;
/** The largest ratio of the cost with many rows to that with few. */
const LIMIT = 1.2;
/** An event can be deleted only once, and half of the few rows must last for all rounds. */
const DELETIONS = 300;
/** So few in flight that calls do not wait in a queue. */
const CONCURRENCY = 4;
/** A prime that is no factor of the numbers of rows. Its multiples are spread over the tables. */
const STEP = 7_368_787;
const METRICS = ['cpuMicros', 'p50Ms', 'postgresMicros'] as const;

/** Usher on a database with so many rows. */
interface Size {
  readonly rows: number;
  readonly server: RunningServer;
  readonly sql: postgres.Sql;
}

type Metric = (typeof METRICS)[number];
type Costs = readonly Readonly<Record<Metric, number>>[];

interface RowsOptions {
  readonly rows: number;
  readonly rounds: number;
  readonly requests: number;
}

/** Compares the cost of calls with so many webhooks, events and expired login intents each to that with ten thousand. */
export async function measureRows(
  stack: AsyncDisposableStack,
  progress: Progress,
  { rows: many, rounds, requests }: RowsOptions,
): Promise<boolean> {
  const { urls, ...seeded } = await seedDatabases(stack, progress, {
    few: (url, fixtures) => seedBulk(url, fixtures, FEW),
    many: (url, fixtures) => seedBulk(url, fixtures, many),
  });
  const sizes: Size[] = [];
  for (const [index, databaseUrl] of urls.entries()) {
    const sql = openClient(databaseUrl, { max: 1 });
    stack.defer(() => sql.end());
    const server = await startUsher(stack, { ...seeded, databaseUrl });
    sizes.push({ rows: index === 0 ? FEW : many, server, sql });
  }

  const { fixtures } = seeded;
  const names = createCalls(fixtures)
    .map(({ name }) => name)
    .filter((name) => name !== 'ExchangeToken first');
  const subjects = names.flatMap((name) => sizes.map((size) => ({ name, size })));
  const costs = await measureRounds(subjects, { rounds, progress }, ({ name, size }, round) => {
    const count = name === 'DeleteEvent' ? Math.min(DELETIONS, requests) : requests;
    const protocol = name === 'CheckIn' ? grpc : rest;
    return measureCall(size, protocol, scattered(size, fixtures, name), {
      concurrency: CONCURRENCY,
      apiKey: fixtures.apiKey,
      round,
      count,
    });
  });

  const compared = names.map((_, index): [few: Costs, many: Costs] => [
    costs[2 * index] ?? [],
    costs[2 * index + 1] ?? [],
  ]);
  const rows = compared.map((each, index) => [
    names[index] ?? '',
    ...METRICS.flatMap((metric) => describe(each, metric)),
  ]);
  const header = ['', 'CPU us, few', 'many', '', 'p50 ms, few', 'many', '', 'Postgres us, few', 'many', ''];
  process.stdout.write(layOutTable(header, rows));
  return compared.every((each) => ratioOf(each, 'cpuMicros') <= LIMIT && ratioOf(each, 'p50Ms') <= LIMIT);
}

/** Returns the call with examples from all over its table. */
function scattered({ rows }: Size, fixtures: Fixtures, name: string): BenchCall {
  const half = rows / 2;
  const call = findCall(fixtures, name, { openEvents: half });
  const stride = strideOf(rows);
  const rowOf: Record<string, (number: number) => number> = {
    GetWebhook: (number) => ((number * STEP) % Math.floor(rows / stride)) * stride,
    DeleteEvent: (number) => (number * STEP) % half,
    CheckIn: (number) => number * STEP,
  };
  const row = rowOf[name];
  if (!row) return call;
  return { name: call.name, method: call.method, exampleAt: (number) => call.exampleAt(row(number)) };
}

function describe(compared: readonly [Costs, Costs], metric: Metric): string[] {
  const medians = compared.map((costs) => medianOf(costs.map((cost) => cost[metric])));
  return [
    ...medians.map((median) => median.toFixed(metric === 'p50Ms' ? 2 : 0)),
    `${ratioOf(compared, metric).toFixed(2)}x`,
  ];
}

function ratioOf([few, many]: readonly [Costs, Costs], metric: Metric): number {
  const [fewCosts = [], manyCosts = []] = [few, many].map((costs) => costs.map((cost) => cost[metric]));
  return medianOf(ratiosOf(manyCosts, fewCosts));
}
