import type { Database } from '../../database/pool/database.ts';
import { pause } from '../../pause.ts';

const PING_TIMEOUT_MS = 1_000;
/** How long callers share one answer of Postgres. */
const SHARED_MS = 250;
/** The interval between pings while somebody waits for a change. */
const POLL_INTERVAL_MS = 1_000;

/** Whether this process can serve calls. Concurrent readers share one ping of Postgres. */
export class Readiness {
  #isReady = false;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #check: Promise<void> | undefined;
  #isPolling = false;
  readonly #waiting = new Set<() => void>();
  readonly #database: Pick<Database, 'ping'>;
  readonly #drain: AbortSignal;

  /** `read` returns false once `drain` is aborted. */
  constructor(database: Pick<Database, 'ping'>, drain: AbortSignal) {
    this.#database = database;
    this.#drain = drain;
    drain.addEventListener('abort', () => this.#set(false));
  }

  async read(): Promise<boolean> {
    if (!this.#drain.aborted && performance.now() - this.#checkedAt >= SHARED_MS) {
      this.#check ??= this.#askDatabase();
      await this.#check;
    }
    return this.#isReady;
  }

  /** Resolves when readiness differs from `last`, when the signal is aborted, and on `wakeAll`. */
  async waitForChange(last: boolean, signal: AbortSignal): Promise<void> {
    if (this.#isReady !== last || signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    const stop = () => resolve();
    signal.addEventListener('abort', stop);
    this.#poll();
    await promise;
    signal.removeEventListener('abort', stop);
    this.#waiting.delete(resolve);
  }

  wakeAll(): void {
    for (const wake of this.#waiting) wake();
  }

  async #poll(): Promise<void> {
    if (this.#isPolling) return;
    this.#isPolling = true;
    for (; this.#waiting.size > 0; await pause(POLL_INTERVAL_MS)) await this.read();
    this.#isPolling = false;
  }

  async #askDatabase(): Promise<void> {
    const isReady = await this.#database.ping(performance.now() + PING_TIMEOUT_MS).then(
      () => true,
      () => false,
    );
    this.#check = undefined;
    this.#checkedAt = performance.now();
    this.#set(isReady && !this.#drain.aborted);
  }

  #set(isReady: boolean): void {
    if (this.#isReady === isReady) return;
    this.#isReady = isReady;
    this.wakeAll();
  }
}
