/**
 * Compares one process with several: `node test/bench/workers.ts --workers 2 --rounds 5 --requests 40000`. The call
 * is authenticated and then refused without Postgres.
 *
 * `per second` is the throughput on this machine, whose cores the load shares. `capacity` is requests per CPU second
 * of the busiest process, the primary included: the throughput if each process had a core of its own.
 */
import { execFileSync } from 'node:child_process';
import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { applyPipelinedLoad, openPipelines, type PipelinedRequest } from './load/pipelined-load.ts';
import { readUsage } from './read-usage.ts';
import { layOutTable } from './report/lay-out-table.ts';
import { runBench } from './run-bench.ts';
import { USHER } from './servers.ts';
import { prepareDatabase } from './start-fixture.ts';
import { type RunningServer, startServer } from './start-server.ts';
import { medianOf } from './statistics.ts';

interface Round {
  readonly perSecond: number;
  readonly capacity: number;
  /** The share of the busiest worker in the CPU time of all workers. */
  readonly busiestShare: number;
  /** How many cores the load used. */
  readonly loadCores: number;
}

interface Setup {
  readonly workers: number;
  readonly server: RunningServer;
  readonly rounds: Round[];
}

const WARM_UPS = 3;
const SETTLE_MS = 100;

const { values } = parseArgs({
  options: {
    workers: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '5' },
    requests: { type: 'string', default: '40000' },
  },
});
const rounds = Math.max(3, Number(values.rounds));
const requests = Number(values.requests);
await runBench(async (stack, progress) => {
  const { fixtures, environment, directory } = await prepareDatabase(stack, 1, progress);
  const setups: Setup[] = [];
  for (const workers of [1, Number(values.workers)]) {
    progress(`Usher with WORKERS=${workers}`);
    const server = await startServer(stack, USHER, {
      environment: { ...environment, WORKERS: String(workers) },
      directory,
    });
    setups.push({ workers, server, rounds: [] });
  }
  const request = refusedRequest(fixtures.apiKey);
  for (let warmUp = 0; warmUp < WARM_UPS; warmUp++) {
    for (const setup of setups) await measure(setup, request, requests / 4);
  }
  for (let round = 1; round <= rounds; round++) {
    progress(`round ${round} of ${rounds}, load of this machine ${loadavg()[0]?.toFixed(1)}`);
    for (const setup of round % 2 === 0 ? setups.toReversed() : setups) {
      setup.rounds.push(await measure(setup, request, requests));
    }
  }
  process.stdout.write(describe(setups));
  return true;
});

async function measure({ server, workers }: Setup, request: PipelinedRequest, count: number): Promise<Round> {
  using connections = new DisposableStack();
  const serving = workers === 1 ? [server.pid] : childrenOf(server.pid);
  if (serving.length !== workers) throw new Error(`${serving.length} workers, not ${workers}`);
  const processes = [...new Set([server.pid, ...serving])];
  const sockets = await openPipelines(connections, server.ports['1.1'], request);
  await sleep(SETTLE_MS);

  const before = processes.map(readUsage);
  const ownBefore = process.cpuUsage();
  const load = await applyPipelinedLoad(sockets, request, count);
  const own = process.cpuUsage(ownBefore);
  const after = processes.map(readUsage);

  const used = after.map(({ cpuMicros }, at) => (cpuMicros - (before[at]?.cpuMicros ?? 0)) / 1e6);
  const usedServing = used.slice(-workers);
  return {
    perSecond: load.requests / load.seconds,
    capacity: load.requests / Math.max(...used),
    busiestShare: Math.max(...usedServing) / usedServing.reduce((sum, time) => sum + time, 0),
    loadCores: (own.user + own.system) / 1e6 / load.seconds,
  };
}

/** Returns a request with a valid key and a malformed ID. */
function refusedRequest(apiKey: string): PipelinedRequest {
  const body = JSON.stringify({ status: false, message: 'Invalid webhook ID format' });
  return {
    bytes: Buffer.from(`GET /api/webhooks/none HTTP/1.1\r\nhost: usher.example\r\nx-api-key: ${apiKey}\r\n\r\n`),
    check(reply) {
      if (reply.status === 400 && reply.body.toString() === body) return;
      throw new Error(`unexpected response: status ${reply.status}: ${reply.body}`);
    },
  };
}

function childrenOf(parent: number): number[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  return lines
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([pid = 0, ppid]) => (ppid === parent ? [pid] : []));
}

function describe(setups: readonly Setup[]): string {
  const lines = setups.map(({ workers, rounds: all }) => [
    `WORKERS=${workers}`,
    ...[
      medianOf(all.map(({ perSecond }) => perSecond)).toFixed(0),
      medianOf(all.map(({ capacity }) => capacity)).toFixed(0),
      `${(100 * medianOf(all.map(({ busiestShare }) => busiestShare))).toFixed(0)} %`,
      medianOf(all.map(({ loadCores }) => loadCores)).toFixed(2),
    ],
  ]);
  const [one, several] = setups;
  const ratio = (of: (round: Round) => number) =>
    medianOf(several?.rounds.map((round, at) => of(round) / of(one?.rounds[at] ?? round)) ?? []).toFixed(2);
  lines.push(['ratio', `${ratio(({ perSecond }) => perSecond)}x`, `${ratio(({ capacity }) => capacity)}x`, '', '']);
  const table = layOutTable(['', 'per second', 'capacity', 'busiest worker', 'cores of the load'], lines);
  return `${availableParallelism()} cores, Node ${process.version}; medians of ${rounds} rounds\n\n${table}`;
}
