/** A worker as the primary sees it. */
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { SECRET_SETTINGS } from '../config.ts';
import type { Order, Report, Started } from './messages.ts';

/** What a worker must know it is told; its environment can be read by others. */
const WITHOUT_SECRETS = Object.fromEntries(SECRET_SETTINGS.map((name) => [name, undefined]));

/** Takes no orders before it is served one: it loads its code meanwhile. */
export class WorkerProcess {
  readonly #worker: Worker = cluster.fork(WITHOUT_SECRETS);
  readonly #report: Promise<Report>;
  /** Resolves to its exit code or signal when the process is gone. */
  readonly ended: Promise<string>;

  constructor() {
    const { process } = this.#worker;
    this.#report = new Promise((resolve) => this.#worker.once('message', resolve));
    this.ended = once(process, 'exit').then(
      ([code, signal]) => signal ?? `exit code ${code}`,
      // There is no process.
      (error) => String(error),
    );
    this.#worker.on('error', () => {});
  }

  /** Resolves when the worker serves; rejects with the one line that says why it cannot, and ends it. */
  async serve(order: Order): Promise<Started> {
    this.#worker.send(order, () => {});
    const ended = this.ended.then((how): Report => ({ failure: `A worker ended before it could serve: ${how}` }));
    const report = await Promise.race([this.#report, ended]);
    if (!('failure' in report)) return report;
    this.stop();
    throw new Error(report.failure);
  }

  /** Ends it; what is under way is finished. */
  stop(): void {
    this.#worker.process.kill('SIGTERM');
  }
}
