/** Merges the metrics of all workers, as if they were those of one process. */
import { Registry } from '@prometheus-io/client';
import type { Collect, Snapshot } from '../metrics/collect.ts';
import { PRIMARY } from '../metrics/definitions.ts';
import { pause } from '../timing/pause.ts';
import type { WorkerProcess } from './worker-process.ts';

/** How long a scrape waits for a worker. */
const TIMEOUT_MS = 2_000;

/**
 * Keeps the last counters of each worker, so that their sums do not fall when a worker is silent or has exited.
 * Prometheus would take a lower value for a restart of the counter, and count the values of the other workers again.
 */
export class WorkerMetrics {
  readonly #last = new Map<WorkerProcess, readonly Snapshot[]>();
  #ofExited: readonly Snapshot[] = [];
  #exits = 0;

  /** Includes the worker in the metrics. Resolves after it has exited. */
  async add(worker: WorkerProcess): Promise<void> {
    this.#last.set(worker, []);
    await worker.exited;
    const counted = onlyCounters(this.#last.get(worker) ?? []);
    this.#last.delete(worker);
    this.#exits++;
    this.#ofExited = await Registry.aggregate([this.#ofExited as Snapshot[], counted]).getMetricsAsJSON();
  }

  readonly collect: Collect = async () => {
    const workers = [...this.#last.keys()];
    const asked = workers.find(({ isSilent }) => !isSilent);
    const answers = await Promise.all(workers.map((worker) => this.#ask(worker, worker === asked)));
    const silent = answers.filter((answer) => answer === undefined).length;
    const found = workers.flatMap((worker, index) => answers[index] ?? onlyCounters(this.#last.get(worker) ?? []));
    return [...this.#ofExited, ...found, ...this.#describeWorkers(workers.length - silent, silent)];
  };

  /** Resolves to undefined if the worker does not answer. */
  async #ask(worker: WorkerProcess, withShared: boolean): Promise<readonly Snapshot[] | undefined> {
    const answered = worker.collectMetrics({ withShared });
    // A late answer is kept for the next scrape.
    answered.then((metrics) => this.#last.has(worker) && this.#last.set(worker, metrics));
    return Promise.race([answered, pause(TIMEOUT_MS).then(() => undefined)]);
  }

  #describeWorkers(answered: number, silent: number): Snapshot[] {
    const states = Object.entries({ answered, silent }).map(([state, value]) => ({ labels: { state }, value }));
    return [
      { ...PRIMARY.workers, values: states },
      { ...PRIMARY.exits, values: [{ labels: {}, value: this.#exits }] },
    ];
  }
}

function onlyCounters(metrics: readonly Snapshot[]): Snapshot[] {
  return metrics.filter(({ type }) => type !== 'gauge');
}
