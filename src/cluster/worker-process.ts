/** A worker as the primary sees it. */
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { SECRET_SETTINGS } from '../config/config.ts';
import type { Started, WorkerInit, WorkerStatus } from './messages.ts';

/** What a worker must know it is told; its environment can be read by others. */
const WITHOUT_SECRETS = Object.fromEntries(SECRET_SETTINGS.map((name) => [name, undefined]));

/** Takes no orders before it is served one: it loads its code meanwhile. */
export class WorkerProcess {
  readonly #worker: Worker = cluster.fork(WITHOUT_SECRETS);
  readonly #report: Promise<WorkerStatus>;
  /** Resolves to its exit code or signal when the process is gone. */
  readonly ended: Promise<string>;

  constructor() {
    this.#report = new Promise((resolve) => this.#worker.once('message', resolve));
    this.ended = once(this.#worker.process, 'exit').then(
      ([code, signal]) => signal ?? `exit code ${code}`,
      // There is no process.
      (error) => String(error),
    );
    this.#worker.on('error', () => {});
    closeLastConnection(this.#worker);
  }

  /** Resolves when the worker serves; rejects with the one line that says why it cannot, and ends it. */
  async serve(order: WorkerInit): Promise<Started> {
    this.#worker.send(order, () => {});
    const ended = this.ended.then((how): WorkerStatus => ({ failure: `A worker ended before it could serve: ${how}` }));
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

/**
 * The cluster forgets a connection that it has sent to a worker which then dies before it can take it:
 * the client would wait for ever. There is one at most, since a worker is sent the next only when it
 * has taken the last. One that has been taken is closed on this side already.
 */
function closeLastConnection({ process }: Worker): void {
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
