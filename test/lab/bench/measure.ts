import type { BenchCall } from './calls.ts';
import { prepareRequests } from './load/prepare-requests.ts';
import { type Measurement, measureLoad } from './measure-load.ts';
import type { Options } from './options.ts';
import type { Progress } from './run-bench.ts';
import { isServed, type Row, type ServerName, type ServerSpec } from './servers.ts';
import type { RunningServer } from './start-server.ts';
import { meanOf, medianOf } from './statistics.ts';
import { countPasses, type WarmUp, warmUntilSteady } from './warm-up.ts';

/** A cell of the tables: one call to one server over one protocol. */
export interface Cell {
  readonly row: Row;
  readonly call: BenchCall;
  /** One per round. */
  readonly measurements: Measurement[];
  /** The first response that was not the expected one, if any. Such a cell has no figure. */
  failure: string | undefined;
}

interface Measuring {
  readonly servers: ReadonlyMap<ServerName, RunningServer>;
  readonly cells: readonly Cell[];
  /** The first number of the requests that cannot be repeated. */
  readonly firstNumber: number;
  readonly apiKey: string;
  readonly options: Options;
  readonly progress: Progress;
}

/**
 * In how many parts a round measures a cell at most. The cells of a call take turns, so that whatever slows the machine down for
 * a second slows them all down.
 */
const TURNS = 6;
const CONCURRENCY = 16;

/** Returns a cell for each call that the server of a row has. */
export function createCells(rows: readonly Row[], calls: readonly BenchCall[]): Cell[] {
  return calls.flatMap((call) =>
    rows.filter((row) => isServed(row, call.name)).map((row) => ({ row, call, measurements: [], failure: undefined })),
  );
}

/** Returns how many requests of a call that cannot be repeated are made at most. */
export function countFresh(cells: readonly Cell[], { isSteady, warmUp, rounds, requests }: Options): number {
  const ofCell = countPasses(isSteady) * warmUp + rounds * requests;
  const counts = new Map<BenchCall, number>();
  for (const { call } of cells) if (call.distinct === undefined) counts.set(call, (counts.get(call) ?? 0) + ofCell);
  return Math.max(0, ...counts.values());
}

/** Warms every server up, then measures all cells round after round. Returns how each server was warmed up. */
export async function measureAll({
  servers,
  cells,
  firstNumber,
  apiKey,
  options,
  progress,
}: Measuring): Promise<Map<ServerSpec, WarmUp>> {
  const headers = { 'x-api-key': apiKey, 'user-agent': 'usher-bench' };
  /** The number of the next request of a call. */
  const next = new Map<BenchCall, number>();

  const applyLoad = async (cell: Cell, count: number): Promise<Measurement> => {
    const { call, row } = cell;
    const { server, protocol } = row;
    const running = servers.get(server.name);
    if (!running) throw new Error(`${server.title} is not running`);
    const number = next.get(call) ?? firstNumber;
    next.set(call, number + count);
    const requests = prepareRequests(protocol, call, { count, firstNumber: number, headers });
    const { load, measurement } = await measureLoad(running, protocol, requests, CONCURRENCY);
    if (load.failure) {
      cell.failure = load.failure;
      progress(`failed: ${server.title}, ${protocol.name}, ${call.name}: ${load.failure}`);
    }
    return measurement;
  };

  const runPasses = async (own: readonly Cell[], passes: number) => {
    const costs: number[] = [];
    for (let pass = 0; pass < passes; pass++) {
      for (const cell of own) if (!cell.failure) costs.push((await applyLoad(cell, options.warmUp)).cpuMicros);
    }
    return { calls: costs.length * options.warmUp, cpuMicros: meanOf(costs) };
  };

  const warmUps = new Map<ServerSpec, WarmUp>();
  for (const server of new Set(cells.map(({ row }) => row.server))) {
    progress(`warm-up: ${server.title}`);
    const own = cells.filter(({ row }) => row.server === server);
    const warmUp = await warmUntilSteady(options.isSteady, (passes) => runPasses(own, passes));
    progress(`${warmUp.calls} calls, us of a call: ${warmUp.rounds.map((micros) => micros.toFixed(0)).join(', ')}`);
    warmUps.set(server, warmUp);
  }
  const turns = Math.min(TURNS, options.requests);
  const count = Math.floor(options.requests / turns);
  for (let round = 1; round <= options.rounds; round++) {
    progress(`round ${round} of ${options.rounds}`);
    for (const call of new Set(cells.map((cell) => cell.call))) {
      const measured = cells.filter((cell) => cell.call === call).map((cell) => ({ cell, parts: [] as Measurement[] }));
      for (let turn = 0; turn < turns; turn++) {
        for (const { cell, parts } of turn % 2 === 0 ? measured : measured.toReversed())
          if (!cell.failure) parts.push(await applyLoad(cell, count));
      }
      for (const { cell, parts } of measured) if (!cell.failure) cell.measurements.push(combine(parts));
    }
  }
  return warmUps;
}

/** Returns the measurement of a round from those of its parts. */
function combine(parts: readonly Measurement[]): Measurement {
  const values = (metric: keyof Measurement) => parts.map((part) => part[metric]);
  return {
    cpuMicros: meanOf(values('cpuMicros')),
    requestsPerSecond: medianOf(values('requestsPerSecond')),
    p50Ms: medianOf(values('p50Ms')),
    p99Ms: medianOf(values('p99Ms')),
    residentBytes: Math.max(...values('residentBytes')),
  };
}
