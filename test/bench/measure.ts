import type { BenchCall } from './calls.ts';
import { type PreparedRequest, prepareRequests } from './load/prepare-requests.ts';
import { type Measurement, measureLoad } from './measure-load.ts';
import type { Options } from './options.ts';
import type { Progress } from './run-bench.ts';
import { isServed, type Row, type ServerName } from './servers.ts';
import type { RunningServer } from './start-server.ts';

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

/** V8 compiles code again when it meets new calls, so that every call of a server is made often before the first round. */
export const WARM_UP_REQUESTS = 12_000;
const MAX_WARM_UP_SECONDS = 2.5;
/** The whole run takes less than five minutes. The measurements share what the warm-up leaves. */
const RUN_SECONDS = 275;
const MIN_SECONDS = 0.1;
const MAX_SECONDS = 2;
/** The time of a measurement apart from its load. */
const OVERHEAD_SECONDS = 0.15;
/** How many requests are in flight. */
const CONCURRENCY = 16;

/** Warms every cell up, then measures all of them round after round, one at a time. Returns every cell. */
export async function measureAll(measuring: Measuring): Promise<Cell[]> {
  const { rows, calls, options, progress } = measuring;
  const cells = calls.flatMap((call) =>
    rows
      .filter((row) => isServed(row, call.name))
      .map((row): Cell => ({ row, call, measurements: [], failure: undefined })),
  );
  const bench = new Bench(measuring);
  let left = cells.length * options.rounds;

  progress(`warming up ${cells.length} cells`);
  for (const cell of cells) await bench.warmUp(cell);
  for (let round = 1; round <= options.rounds; round++) {
    for (const call of calls) {
      progress(`round ${round} of ${options.rounds}, ${call.name} (${Math.round(performance.now() / 1000)} s)`);
      const inOrder = cells.filter((cell) => cell.call === call);
      // The order alternates, so that no cell always follows the same other one.
      if (round % 2 === 0) inOrder.reverse();
      for (const cell of inOrder) await bench.measure(cell, options.requests, secondsFor(left--));
    }
  }
  return cells;
}

/** Returns the time for one of the measurements that are left. */
function secondsFor(left: number): number {
  const share = (RUN_SECONDS - performance.now() / 1000) / left - OVERHEAD_SECONDS;
  return Math.min(MAX_SECONDS, Math.max(MIN_SECONDS, share));
}

class Bench {
  readonly #measuring: Measuring;
  /** How many requests of a call have been made. */
  readonly #made = new Map<BenchCall, number>();

  constructor(measuring: Measuring) {
    this.#measuring = measuring;
  }

  async warmUp(cell: Cell): Promise<void> {
    await this.#apply(cell, WARM_UP_REQUESTS, MAX_WARM_UP_SECONDS);
  }

  async measure(cell: Cell, requests: number, maxSeconds: number): Promise<void> {
    if (cell.failure) return;
    cell.measurements.push(await this.#apply(cell, requests, maxSeconds));
  }

  async #apply(cell: Cell, count: number, maxSeconds: number): Promise<Measurement> {
    const limits = { maxSeconds, concurrency: CONCURRENCY };
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
