import type { BenchCall } from './calls.ts';
import { prepareRequests } from './load/prepare-requests.ts';
import { type Measurement, measureLoad } from './measure-load.ts';
import type { Options } from './options.ts';
import type { Progress } from './run-bench.ts';
import { isServed, type Row, type ServerName } from './servers.ts';
import type { RunningServer } from './start-server.ts';
import { meanOf, medianOf } from './statistics.ts';

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
  readonly rows: readonly Row[];
  readonly calls: readonly BenchCall[];
  readonly apiKey: string;
  readonly options: Options;
  readonly progress: Progress;
}

/**
 * V8 compiles and discards code whenever a server meets another call: Usher settles after some 70,000 requests. So
 * the warm-up makes all calls in several passes, since one pass would leave the code of the first calls discarded.
 */
export const WARM_UP_PASSES = 3;
/**
 * In how many parts a round measures a cell. The cells of a call take turns, so that whatever slows the machine down for
 * a second slows them all down.
 */
const TURNS = 6;
/** The measurements end by their number of requests, and by time only if a server hangs. */
const LIMITS = { maxSeconds: 60, concurrency: 16 };

/** Warms every cell up, then measures all of them round after round. Returns every cell. */
export async function measureAll({ servers, rows, calls, apiKey, options, progress }: Measuring): Promise<Cell[]> {
  const cells = calls.flatMap((call) =>
    rows
      .filter((row) => isServed(row, call.name))
      .map((row): Cell => ({ row, call, measurements: [], failure: undefined })),
  );
  const headers = { 'x-api-key': apiKey, 'user-agent': 'usher-bench' };
  /** How many requests of a call have been made. */
  const made = new Map<BenchCall, number>();

  const applyLoad = async (cell: Cell, count: number): Promise<Measurement> => {
    const { call, row } = cell;
    const { server, protocol } = row;
    const running = servers.get(server.name);
    if (!running) throw new Error(`${server.title} is not running`);
    const firstNumber = made.get(call) ?? 0;
    made.set(call, firstNumber + count);
    const requests = prepareRequests(protocol, call, { count, firstNumber, headers });
    const { load, measurement } = await measureLoad(running, protocol, requests, LIMITS);
    if (load.failure) {
      cell.failure = load.failure;
      progress(`failed: ${server.title}, ${protocol.name}, ${call.name}: ${load.failure}`);
    }
    return measurement;
  };

  for (let pass = 1; pass <= WARM_UP_PASSES; pass++) {
    progress(`warm-up ${pass} of ${WARM_UP_PASSES}`);
    for (const cell of cells) if (!cell.failure) await applyLoad(cell, options.warmUp);
  }
  const count = Math.max(1, Math.floor(options.requests / TURNS));
  for (let round = 1; round <= options.rounds; round++) {
    progress(`round ${round} of ${options.rounds}`);
    for (const call of calls) {
      const measured = cells.filter((cell) => cell.call === call).map((cell) => ({ cell, parts: [] as Measurement[] }));
      for (let turn = 0; turn < TURNS; turn++) {
        for (const { cell, parts } of turn % 2 === 0 ? measured : measured.toReversed())
          if (!cell.failure) parts.push(await applyLoad(cell, count));
      }
      for (const { cell, parts } of measured) if (!cell.failure) cell.measurements.push(combine(parts));
    }
  }
  return cells;
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
