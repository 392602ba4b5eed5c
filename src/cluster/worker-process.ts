/** The primary's view of a worker process. */
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { SECRET_SETTINGS } from '../config/config.ts';
import type { Snapshot } from '../metrics/collect.ts';
import type {
  MetricsReply,
  MetricsRequest,
  RevocationMessage,
  WorkerInit,
  WorkerStarted,
  WorkerStatus,
} from './messages.ts';
import { RevocationChannel } from './revocation-channel.ts';

/**
 * Removes the secrets from a worker's environment, which other users may be able to read. Workers get them by message.
 */
const WITHOUT_SECRETS = Object.fromEntries(SECRET_SETTINGS.map((name) => [name, undefined]));

/** Starts the process at once, so that it loads its modules while the primary starts the database. */
export class WorkerProcess {
  readonly #worker: Worker = cluster.fork(WITHOUT_SECRETS);
  readonly #status = Promise.withResolvers<WorkerStatus>();
  readonly #revocations = new RevocationChannel((message) => this.#worker.send(message, () => {}));
  #metrics: PromiseWithResolvers<readonly Snapshot[]> | undefined;
  #isServing = false;
  /** Resolves to the exit code or signal once the process has ended, or to the error if it could not be started. */
  readonly exited: Promise<string>;

  constructor() {
    this.#worker.on('message', (message: WorkerStatus | RevocationMessage | MetricsReply) => {
      if ('revocation' in message) this.#revocations.receive(message);
      else if ('metrics' in message) this.#receiveMetrics(message);
      else this.#status.resolve(message);
      if ('url' in message) this.#isServing = true;
    });
    this.exited = once(this.#worker.process, 'exit').then(
      ([code, signal]) => signal ?? `exit code ${code}`,
      (error) => String(error),
    );
    this.exited.then(() => {
      this.#isServing = false;
      this.#revocations.close();
    });
    this.#worker.on('error', () => {});
    closeUndeliveredConnection(this.#worker);
  }

  /** Resolves when the worker serves. If the worker cannot, stops it and rejects with an Error of one line. */
  async serve(init: WorkerInit): Promise<WorkerStarted> {
    this.#worker.send(init, () => {});
    const exited = this.exited.then(
      (exitReason): WorkerStatus => ({ failure: `A worker exited before it could serve: ${exitReason}` }),
    );
    const status = await Promise.race([this.#status.promise, exited]);
    if ('failure' in status) {
      this.stop();
      throw new Error(status.failure);
    }
    return status;
  }

  /** Sets the function that is called with the ID of each user whose sessions this worker has ended. */
  onForget(forget: (userId: string) => Promise<void>): void {
    this.#revocations.onForget(forget);
  }

  /** Resolves when the worker has forgotten the user's sessions. A worker that does not serve yet has none. */
  async forgetUser(userId: string): Promise<void> {
    if (this.#isServing) await this.#revocations.forgetUser(userId);
  }

  /** Whether the worker has not answered the last request for its metrics. */
  get isSilent(): boolean {
    return this.#metrics !== undefined;
  }

  /** Resolves when the worker answers, which may be never. While an answer is missing, no further request is sent. */
  collectMetrics(request: MetricsRequest): Promise<readonly Snapshot[]> {
    if (!this.#metrics) {
      this.#metrics = Promise.withResolvers();
      this.#worker.send(request, () => {});
    }
    return this.#metrics.promise;
  }

  #receiveMetrics({ metrics }: MetricsReply): void {
    this.#metrics?.resolve(metrics);
    this.#metrics = undefined;
  }

  /** Signals the worker to finish its calls and exit. */
  stop(): void {
    this.#worker.process.kill('SIGTERM');
  }
}

/**
 * Closes the connection that was sent to a worker but not accepted before the worker exited: `node:cluster` forgets it,
 * and the client would wait for ever. There is at most one, because a worker gets a connection only after it has
 * accepted the one before. The primary has already closed its copy of accepted connections.
 */
function closeUndeliveredConnection({ process }: Worker): void {
  const send: (...sent: never[]) => boolean = process.send.bind(process);
  let last: { close(): void } | undefined;
  process.send = (...sent: unknown[]) => {
    const [, connection] = sent;
    if (isClosable(connection)) last = connection;
    return Reflect.apply(send, process, sent);
  };
  process.once('exit', () => last?.close());
}

function isClosable(value: unknown): value is { close(): void } {
  return typeof value === 'object' && value !== null && 'close' in value;
}
