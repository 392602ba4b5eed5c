/** The cost of changes without webhooks, with webhooks that do not subscribe, and with one that does. */
import { openClient } from '../../../src/database/open-client.ts';
import { alternate } from '../alternate.ts';
import { createCalls } from '../calls.ts';
import { createFixtures, type Fixtures } from '../fixtures.ts';
import { seedDatabases } from '../growth/seed-databases.ts';
import { prepareRequests } from '../load/prepare-requests.ts';
import { measureLoad } from '../measure-load.ts';
import { grpc } from '../protocols/grpc.ts';
import { readUsage } from '../read-usage.ts';
import { layOutTable } from '../report/lay-out-table.ts';
import type { Progress } from '../run-bench.ts';
import { USHER } from '../servers.ts';
import { makeDirectory, writeEnvironment } from '../start-fixture.ts';
import { type RunningServer, startServer } from '../start-server.ts';
import { medianOf } from '../statistics.ts';

/** How the webhooks of the application are changed, and the largest cost compared with that of the first. */
const VARIANTS = [
  { name: 'none', change: 'delete from webhooks', limit: 1 },
  { name: 'no subscriber', change: 'select', limit: 1.03 },
  {
    name: 'one subscriber',
    change: `update webhooks set event_types = '{*}' where id = (select min(id) from webhooks)`,
    limit: 1.25,
  },
];
const CALLS = ['CheckIn', 'DeleteEvent', 'ExchangeToken first'];
const REQUESTS = 800;
const LIMITS = { maxSeconds: 10, concurrency: 4 };

interface Variant {
  readonly server: RunningServer;
  readonly databaseUrl: string;
}

/** Prints a table. Returns whether every call meets the limits. */
export async function measureRequestPath(progress: Progress, rounds: number): Promise<boolean> {
  await using stack = new AsyncDisposableStack();
  const fixtures = createFixtures();
  const variants = await startVariants(stack, fixtures, progress, (rounds + 1) * REQUESTS);
  const costs = new Map(CALLS.map((name) => [name, variants.map((): number[] => [])]));
  // The first round is the warm-up.
  for (let round = 0; round <= rounds; round++) {
    progress(`round ${round} of ${rounds}`);
    for (const name of CALLS) {
      for (const [index, variant] of alternate(variants, round)) {
        const cost = await measureCall(variant, fixtures, name, round);
        if (round > 0) costs.get(name)?.[index]?.push(cost);
      }
    }
  }

  // Round by round, since a busy machine is busy for all of a round.
  const ratioOf = (name: string, index: number) => {
    const [first = [], other = []] = [costs.get(name)?.[0], costs.get(name)?.[index]];
    return medianOf(other.map((cost, round) => cost / (first[round] ?? Number.NaN)));
  };
  const rows = CALLS.map((name) => [
    name,
    ...VARIANTS.flatMap((_, index) => [
      medianOf(costs.get(name)?.[index] ?? []).toFixed(0),
      `${ratioOf(name, index).toFixed(2)}x`,
    ]),
  ]);
  const header = ['CPU us of Usher and Postgres', ...VARIANTS.flatMap(({ name }) => [name, ''])];
  process.stdout.write(layOutTable(header, rows));
  return CALLS.every((name) => VARIANTS.every(({ limit }, index) => ratioOf(name, index) <= limit));
}

/** They deliver nothing, since the request path alone is measured. */
async function startVariants(
  stack: AsyncDisposableStack,
  fixtures: Fixtures,
  progress: Progress,
  fresh: number,
): Promise<Variant[]> {
  const directory = await makeDirectory(stack);
  const fill = (change: string) => async (url: string) => {
    const sql = openClient(url, { max: 1 });
    await sql.unsafe(change).finally(() => sql.end());
  };
  const fillings = Object.fromEntries(VARIANTS.map(({ name, change }) => [name, fill(change)]));
  const urls = await seedDatabases(stack, { directory, fixtures, progress, fresh }, fillings);
  const variants: Variant[] = [];
  for (const databaseUrl of urls.values()) {
    const environment = { ...(await writeEnvironment(directory, databaseUrl, fixtures)), WEBHOOK_DELIVERY: 'false' };
    variants.push({ databaseUrl, server: await startServer(stack, USHER, { environment, directory }) });
  }
  return variants;
}

/** Returns the CPU time per request, of the server and of its connections in Postgres. */
async function measureCall(
  { server, databaseUrl }: Variant,
  fixtures: Fixtures,
  name: string,
  round: number,
): Promise<number> {
  const call = createCalls(fixtures).find((call) => call.name === name);
  if (!call) throw new Error(`There is no ${name}`);
  const headers = { 'x-api-key': fixtures.apiKey };
  const requests = prepareRequests(grpc, call, { count: REQUESTS, firstNumber: round * REQUESTS, headers });
  const sql = openClient(databaseUrl, { max: 1 });
  const backends = await sql`
    select pid from pg_stat_activity where datname = current_database() and application_name like 'usher %'`;
  await sql.end();
  const usage = () => backends.reduce((sum, { pid }) => sum + readUsage(pid).cpuMicros, 0);
  const before = usage();
  const { load, measurement } = await measureLoad(server, grpc, requests, LIMITS);
  if (load.failure) throw new Error(`${name}: ${load.failure}`);
  return measurement.cpuMicros + (usage() - before) / load.requests;
}
