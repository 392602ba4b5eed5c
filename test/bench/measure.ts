/** Warms every cell up, then measures all of them round after round, one at a time. */
import type { BenchCall } from './calls.ts';
import { isServed, type Row, type ServerName } from './lineup.ts';
import { type PreparedRequest, prepareRequests } from './load/prepare-requests.ts';
import { type Measurement, measureLoad } from './measure-load.ts';
import type { Options } from './options.ts';
import type { RunningServer } from './start-server.ts';

/** One call to one server over one protocol. */
export interface Cell {
  readonly row: Row;
  readonly call: BenchCall;
  /** One per round. */
  readonly measurements: Measurement[];
  /** Why there is no figure: a reply that was not the expected one. */
  refusal: string | undefined;
}

export interface Measuring {
  readonly servers: ReadonlyMap<ServerName, RunningServer>;
  readonly rows: readonly Row[];
  readonly calls: readonly BenchCall[];
  readonly apiKey: string;
  readonly options: Options;
  progress(line: string): void;
}

/**
 * For every call of a server, so that its code is compiled for good before the first figure: what V8 makes of the
 * first few thousand calls it throws away again when others come.
 */
export const WARM_UP_REQUESTS = 12_000;
const MAX_WARM_UP_SECONDS = 2.5;
/** How long the process may run: a little less than five minutes. What is left is shared by the measurements. */
const RUN_SECONDS = 275;
const MIN_SECONDS = 0.1;
const MAX_SECONDS = 2;
/** What a measurement takes beside its load: making requests and connections, settling. */
const OVERHEAD_SECONDS = 0.15;
/** How many requests are under way at a time. */
const CONCURRENCY = 16;

/** Every cell, refused ones included. */
export async function measureAll(measuring: Measuring): Promise<Cell[]> {
  const { rows, calls, options, progress } = measuring;
  const cells = calls.flatMap((call) =>
    rows
      .filter((row) => isServed(row, call.name))
      .map((row): Cell => ({ row, call, measurements: [], refusal: undefined })),
  );
  const bench = new Bench(measuring);
  let left = cells.length * options.rounds;

  progress(`warming up ${cells.length} cells`);
  for (const cell of cells) await bench.warmUp(cell);
  for (let round = 1; round <= options.rounds; round++) {
    for (const call of calls) {
      progress(`round ${round} of ${options.rounds}, ${call.name} (${Math.round(performance.now() / 1000)} s)`);
      const inTurn = cells.filter((cell) => cell.call === call);
      // There and back, so that nobody always comes after the same tenant.
      if (round % 2 === 0) inTurn.reverse();
      for (const cell of inTurn) await bench.measure(cell, options.requests, secondsFor(left--));
    }
  }
  return cells;
}

/** The most a measurement may take when so many are left. */
function secondsFor(left: number): number {
  const share = (RUN_SECONDS - performance.now() / 1000) / left - OVERHEAD_SECONDS;
  return Math.min(MAX_SECONDS, Math.max(MIN_SECONDS, share));
}

class Bench {
  readonly #measuring: Measuring;
  /** How many orders of a call have been placed. */
  readonly #placed = new Map<BenchCall, number>();

  constructor(measuring: Measuring) {
    this.#measuring = measuring;
  }

  async warmUp(cell: Cell): Promise<void> {
    await this.#apply(cell, WARM_UP_REQUESTS, MAX_WARM_UP_SECONDS);
  }

  async measure(cell: Cell, requests: number, maxSeconds: number): Promise<void> {
    if (cell.refusal) return;
    cell.measurements.push(await this.#apply(cell, requests, maxSeconds));
  }

  /** Notes on the cell when a reply is a wrong one. */
  async #apply(cell: Cell, count: number, maxSeconds: number): Promise<Measurement> {
    const limits = { maxSeconds, concurrency: CONCURRENCY };
    const requests = this.#prepare(cell, count);
    const { load, measurement } = await measureLoad(this.#serverOf(cell.row), cell.row.protocol, requests, limits);
    if (load.refusal) this.#refuse(cell, load.refusal);
    return measurement;
  }

  #prepare({ row, call }: Cell, count: number): PreparedRequest[] {
    const firstNumber = this.#placed.get(call) ?? 0;
    this.#placed.set(call, firstNumber + count);
    const headers = { 'x-api-key': this.#measuring.apiKey, 'user-agent': 'usher-bench' };
    return prepareRequests(row.protocol, call, { count, firstNumber, headers });
  }

  #refuse(cell: Cell, refusal: string): void {
    cell.refusal ??= refusal;
    const { row, call } = cell;
    this.#measuring.progress(`refused: ${row.server.title}, ${row.protocol.name}, ${call.name}: ${refusal}`);
  }

  #serverOf({ server }: Row): RunningServer {
    const running = this.#measuring.servers.get(server.name);
    if (!running) throw new Error(`${server.title} is not running`);
    return running;
  }
}
