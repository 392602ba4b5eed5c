import type { PipelinedConnection } from '../connection/pipelined-connection.ts';
import { StatementQueue } from '../connection/statement-queue.ts';
import { DatabaseUnavailableError, isLockTimeout, NotIsolatedError } from '../sql/errors.ts';
import type { Receiver, StatementExecution } from '../sql/statement.ts';
import type { LockIsolation } from './lock-isolation.ts';

/**
 * The most statements in flight on a connection: enough to keep Postgres busy, few enough that a lock delays few
 * others.
 */
const MAX_IN_FLIGHT = 16;

/** How many statements may wait for a connection. Further ones fail at once with DatabaseUnavailableError. */
const MAX_PENDING = 2_000;

/** How long a statement may run on a shared connection while other connections answer. */
const SLOW_MS = 100;

/**
 * Runs each statement on the pipelined connection that has the fewest in flight.
 *
 * A plain pool is less code: `MAX_IN_FLIGHT = 1` and 32 connections. With it GetWebhook costs 306 us of CPU instead of 203,
 * by `npm run bench -- --server usher --server against --against ../without --protocol REST --only GetWebhook --steady`.
 * With postgres.js a prepared select, 16 in flight, cost 17 us over four pipelined connections, and 26 us over 16 others;
 * its own pool and that of `pg` took 27 us and 25 us.
 */
export class ConnectionPool {
  readonly connections: readonly PipelinedConnection[];
  readonly #isolation: LockIsolation;
  readonly #queue = new StatementQueue();
  #isStarting = false;

  constructor(connections: readonly PipelinedConnection[], isolation: LockIsolation) {
    this.connections = connections;
    this.#isolation = isolation;
  }

  start<Rows>(execution: StatementExecution<Rows>, receiver: Receiver<Rows>): void {
    const isIsolated = this.#isolation.has(execution);
    const connection = isIsolated || this.#queue.length > 0 ? undefined : this.#nextConnection();
    if (isIsolated) this.#startIsolated(execution, receiver);
    else if (connection) this.#startOn(connection, execution, receiver);
    else if (this.#isDown) receiver.reject(new DatabaseUnavailableError('Every connection has just failed'));
    else if (this.#queue.length >= MAX_PENDING)
      receiver.reject(new DatabaseUnavailableError('Too many statements wait'));
    else {
      this.#queue.add(execution, receiver);
      this.#startWaiting();
    }
  }

  /** How many statements Postgres has not answered, and how many have not been sent. */
  get load() {
    const inFlight = this.connections.reduce((sum, { pending }) => sum + pending, 0);
    return { inFlight, waiting: this.#queue.length };
  }

  tick(now: number): void {
    for (const connection of this.connections) connection.tick(now);
    this.#isolateSlow();
    this.#queue.rejectLate(now);
    if (this.#isDown) this.#queue.rejectAll('Every connection has just failed');
    this.#startWaiting();
  }

  /** Gives statements in flight a moment to finish. */
  async close(): Promise<void> {
    this.#queue.rejectAll('The database is closed');
    await Promise.all(this.connections.map((connection) => connection.close()));
  }

  get #isDown(): boolean {
    return this.connections.every(({ isBackingOff }) => isBackingOff);
  }

  /**
   * On a hot row every waiter waits briefly for someone else, so no single wait reaches `lock_timeout`. Therefore a
   * slow statement is isolated, too, if another connection has answered recently: then Postgres as a whole is not slow.
   */
  #isolateSlow(): void {
    const leastMs = Math.min(...this.connections.map(({ silentMs }) => silentMs));
    for (const { running, isOpen, silentMs } of this.connections)
      if (running && isOpen && silentMs >= SLOW_MS && leastMs <= silentMs / 2) this.#isolation.isolate(running);
  }

  #nextConnection(): PipelinedConnection | undefined {
    let next: PipelinedConnection | undefined;
    for (const connection of this.connections) {
      if (connection.pending < (next?.pending ?? MAX_IN_FLIGHT) && !connection.isBackingOff) next = connection;
    }
    return next;
  }

  #startOn<Rows>(connection: PipelinedConnection, execution: StatementExecution<Rows>, receiver: Receiver<Rows>): void {
    const resolve = (rows: Rows) => {
      receiver.resolve(rows);
      this.#startWaiting();
    };
    const reject = (error: unknown) => {
      if (isLockTimeout(error)) {
        this.#isolation.isolate(execution);
        this.#startIsolated(execution, receiver);
      } else receiver.reject(error);
      this.#startWaiting();
    };
    connection.start(execution, { resolve, reject });
  }

  #startIsolated<Rows>(execution: StatementExecution<Rows>, { resolve, reject }: Receiver<Rows>): void {
    const rejectOrRepeat = (error: unknown) => {
      if (error instanceof NotIsolatedError) this.start(execution, { resolve, reject });
      else reject(error);
    };
    this.#isolation.start(execution, { resolve, reject: rejectOrRepeat });
  }

  #startWaiting(): void {
    // Those that fail at once call it again.
    if (this.#isStarting || this.#queue.length === 0) return;
    this.#isStarting = true;
    for (let first = this.#queue.first; first; first = this.#queue.first) {
      const isIsolated = this.#isolation.has(first);
      const connection = isIsolated ? undefined : this.#nextConnection();
      if (!isIsolated && !connection) break;
      this.#queue.startFirst((execution, receiver) =>
        connection ? this.#startOn(connection, execution, receiver) : this.#startIsolated(execution, receiver),
      );
    }
    this.#isStarting = false;
  }
}
