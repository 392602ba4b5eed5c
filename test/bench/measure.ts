import type { BenchCall } from './calls.ts';
import { type PreparedRequest, prepareRequests } from './load/prepare-requests.ts';
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

export interface Measuring {
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
const WARM_UP_PASSES = 3;
const WARM_UP_REQUESTS = 2_500;
/** How many requests of a cell the warm-up makes. */
export const WARM_UP_TOTAL = WARM_UP_PASSES * WARM_UP_REQUESTS;
/**
 * In how many parts a round measures a cell. The cells of a call take turns, so that whatever slows the machine down for
 * a second slows them all down.
 */
const TURNS = 6;
/** The measurements end by their number of requests, and by time only if a server hangs. */
const MAX_SECONDS = 60;
/** How many requests are in flight. */
const CONCURRENCY = 16;

/** Warms every cell up, then measures all of them round after round. Returns every cell. */
export async function measureAll(measuring: Measuring): Promise<Cell[]> {
  const { rows, calls, options, progress } = measuring;
  const cells = calls.flatMap((call) =>
    rows
      .filter((row) => isServed(row, call.name))
      .map((row): Cell => ({ row, call, measurements: [], failure: undefined })),
  );
  const bench = new Bench(measuring);

  for (let pass = 1; pass <= WARM_UP_PASSES; pass++) {
    progress(`warm-up ${pass} of ${WARM_UP_PASSES} (${seconds()} s)`);
    for (const cell of cells) await bench.warmUp(cell);
  }
  for (let round = 1; round <= options.rounds; round++) {
    progress(`round ${round} of ${options.rounds} (${seconds()} s)`);
    for (const call of calls) await bench.measure(cells.filter((cell) => cell.call === call));
  }
  return cells;
}

function seconds(): number {
  return Math.round(performance.now() / 1000);
}

class Bench {
  readonly #measuring: Measuring;
  /** How many requests of a call have been made. */
  readonly #made = new Map<BenchCall, number>();

  constructor(measuring: Measuring) {
    this.#measuring = measuring;
  }

  async warmUp(cell: Cell): Promise<void> {
    if (!cell.failure) await this.#apply(cell, WARM_UP_REQUESTS);
  }

  /** Measures the cells of a call in turns. */
  async measure(cells: readonly Cell[]): Promise<void> {
    const count = Math.max(1, Math.floor(this.#measuring.options.requests / TURNS));
    const measured = cells.map((cell) => ({ cell, parts: [] as Measurement[] }));
    for (let turn = 0; turn < TURNS; turn++) {
      for (const { cell, parts } of turn % 2 === 0 ? measured : measured.toReversed())
        if (!cell.failure) parts.push(await this.#apply(cell, count));
    }
    for (const { cell, parts } of measured) if (!cell.failure) cell.measurements.push(combine(parts));
  }

  async #apply(cell: Cell, count: number): Promise<Measurement> {
    const limits = { maxSeconds: MAX_SECONDS, concurrency: CONCURRENCY };
    const requests = this.#prepare(cell, count);
    const { load, measurement } = await measureLoad(this.#serverOf(cell.row), cell.row.protocol, requests, limits);
    if (load.failure) this.#fail(cell, load.failure);
    return measurement;
  }

  #prepare({ row, call }: Cell, count: number): PreparedRequest[] {
    const firstNumber = this.#made.get(call) ?? 0;
    this.#made.set(call, firstNumber + count);
    const headers = { 'x-api-key': this.#measuring.apiKey, 'user-agent': 'usher-bench' };
    return prepareRequests(row.protocol, call, { count, firstNumber, headers });
  }

  #fail(cell: Cell, failure: string): void {
    cell.failure ??= failure;
    const { row, call } = cell;
    this.#measuring.progress(`failed: ${row.server.title}, ${row.protocol.name}, ${call.name}: ${failure}`);
  }

  #serverOf({ server }: Row): RunningServer {
    const running = this.#measuring.servers.get(server.name);
    if (!running) throw new Error(`${server.title} is not running`);
    return running;
  }
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
