/** A worker as the primary sees it. */
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { SECRET_SETTINGS } from '../config/config.ts';
import type { Snapshot } from '../metrics/collect.ts';
import type { MetricsReply, MetricsRequest, WorkerInit, WorkerStarted, WorkerStatus } from './messages.ts';

/** Secrets go over the channel: other users may read the environment of a process. */
const WITHOUT_SECRETS = Object.fromEntries(SECRET_SETTINGS.map((name) => [name, undefined]));

/** Starts the process at once. It loads its modules while the primary prepares. */
export class WorkerProcess {
  readonly #worker: Worker = cluster.fork(WITHOUT_SECRETS);
  readonly #status: Promise<WorkerStatus>;
  #metrics: Promise<readonly Snapshot[]> | undefined;
  /** Resolves to the exit code or signal when the process is gone. */
  readonly exited: Promise<string>;

  constructor() {
    this.#status = new Promise((resolve) => this.#worker.once('message', resolve));
    this.exited = once(this.#worker.process, 'exit').then(
      ([code, signal]) => signal ?? `exit code ${code}`,
      // There is no process.
      (error) => String(error),
    );
    this.#worker.on('error', () => {});
    closeUndeliveredConnection(this.#worker);
  }

  /** Resolves when the worker serves. Ends it and rejects with one line if it cannot. */
  async serve(init: WorkerInit): Promise<WorkerStarted> {
    this.#worker.send(init, () => {});
    const exited = this.exited.then(
      (exitReason): WorkerStatus => ({ failure: `A worker exited before it could serve: ${exitReason}` }),
    );
    const status = await Promise.race([this.#status, exited]);
    if (!('failure' in status)) return status;
    this.stop();
    throw new Error(status.failure);
  }

  /** Whether the worker has not answered the last request for its metrics. */
  get isSilent(): boolean {
    return this.#metrics !== undefined;
  }

  /** Resolves to its metrics when it answers, if ever. A worker that is silent is not asked again. */
  collectMetrics(request: MetricsRequest): Promise<readonly Snapshot[]> {
    this.#metrics ??= new Promise((resolve) => {
      this.#worker.once('message', ({ metrics }: MetricsReply) => {
        this.#metrics = undefined;
        resolve(metrics);
      });
      this.#worker.send(request, () => {});
    });
    return this.#metrics;
  }

  /** Asks the worker to exit after it has finished what is in flight. */
  stop(): void {
    this.#worker.process.kill('SIGTERM');
  }
}

/**
 * `node:cluster` forgets a connection that it has sent to a worker which exits before it takes the
 * connection, and the client would wait for ever. There is one at most: a worker is sent the next
 * connection when it has taken the last. A connection that was taken is closed on this side already.
 */
function closeUndeliveredConnection({ process }: Worker): void {
  const send: (...sent: never[]) => boolean = process.send.bind(process);
  let last: Closable | undefined;
  process.send = (...sent: unknown[]) => {
    const [, connection] = sent;
    if (isClosable(connection)) last = connection;
    return Reflect.apply(send, process, sent);
  };
  process.once('exit', () => last?.close());
}

interface Closable {
  close(): void;
}

function isClosable(value: unknown): value is Closable {
  return typeof value === 'object' && value !== null && 'close' in value;
}
