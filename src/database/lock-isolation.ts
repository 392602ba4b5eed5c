import { DatabaseUnavailableError, NotIsolatedError } from './errors.ts';
import type { IsolatedConnection } from './isolated-connection.ts';
import type { Statement, StatementCall } from './statement.ts';
import { StatementQueue } from './statement-queue.ts';

/** How long a statement waits for a lock among others, which wait behind it. Longer than a migration waits for a table. */
export const LOCK_TIMEOUT_MS = 60;

/** How long after its last lock timeout a kind of statement stays isolated. */
const ISOLATION_MS = 1_000;

/** How many statements of one kind and application may wait; more are unavailable at once. */
const MAX_WAITING = 64;

/** Runs kinds of statement that wait for locks on connections where no other statement waits behind them. */
export class LockIsolation {
  readonly #capacity: number;
  readonly #open: () => IsolatedConnection;
  /** The isolated kinds, each until an instant of `performance.now()`. */
  readonly #isolatedUntil = new Map<Statement<unknown>, number>();
  readonly #queue = new StatementQueue();
  #connections: IsolatedConnection[] = [];

  /** `capacity` is how many statements run at the same time. */
  constructor(capacity: number, open: () => IsolatedConnection) {
    this.#capacity = capacity;
    this.#open = open;
  }

  get connections(): readonly IsolatedConnection[] {
    return this.#connections;
  }

  /** How many statements a lock may block, each on a connection, and how many have not been sent. */
  get load() {
    return { inFlight: this.#connections.filter(({ running }) => running).length, waiting: this.#queue.length };
  }

  /** Returns whether statements of this kind are to run here. */
  has(statement: Statement<unknown>): boolean {
    return this.#isolatedUntil.has(statement);
  }

  /** Isolates a kind of statement that has just waited for a lock. */
  add(statement: Statement<unknown>): void {
    this.#isolatedUntil.set(statement, performance.now() + ISOLATION_MS);
  }

  /** @throws NotIsolatedError if the isolation of its kind ends before it gets a connection */
  async run<Rows>(call: StatementCall<Rows>): Promise<Rows> {
    call.onLockWait?.();
    if (!this.#mayStart(call) && this.#countWaitingLike(call) >= MAX_WAITING)
      throw new DatabaseUnavailableError('Too many statements wait for a lock');
    const rows = this.#queue.add(call);
    this.#startWaiting();
    return rows;
  }

  tick(now: number): void {
    for (const connection of this.#connections) {
      connection.tick(now);
      const { running, silentMs } = connection;
      if (running && silentMs > LOCK_TIMEOUT_MS) this.add(running.statement);
    }
    for (const [statement, until] of this.#isolatedUntil) if (until < now) this.#isolatedUntil.delete(statement);
    this.#queue.rejectLate(now);
    this.#startWaiting();
    this.#releaseOne();
    if (this.#isolatedUntil.size === 0) this.#closeIdle();
  }

  async close(): Promise<void> {
    this.#queue.rejectAll('The database is closed');
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }

  #startWaiting(): void {
    const mayStart = (call: StatementCall<unknown>) => this.#mayStart(call);
    while (this.#queue.startFirst((call) => this.#start(call), mayStart));
  }

  /** One after the other: if their kind still waits for a lock, the first isolates it again. */
  #releaseOne(): void {
    this.#queue.startFirst(
      () => Promise.reject(new NotIsolatedError()),
      ({ statement }) => !this.has(statement),
    );
  }

  async #start<Rows>(call: StatementCall<Rows>): Promise<Rows> {
    try {
      return await this.#idleConnection().run(call);
    } finally {
      this.#startWaiting();
    }
  }

  /**
   * Dynamic thresholds (Choudhury and Hahne, 1998): an application may use as many connections as are free, and a
   * kind of statement twice as many. So neither one locked row nor one locked table takes all of them.
   */
  #mayStart({ statement, parameters: { applicationId } }: StatementCall<unknown>): boolean {
    const calls = this.#connections.flatMap(({ running }) => running ?? []);
    const free = this.#capacity - calls.length;
    const ofKind = calls.filter((call) => call.statement === statement).length;
    const ofApplication = calls.filter(({ parameters }) => parameters.applicationId === applicationId).length;
    return ofKind < 2 * free && (applicationId === undefined || ofApplication < free);
  }

  #countWaitingLike({ statement, parameters: { applicationId } }: StatementCall<unknown>): number {
    return this.#queue.count((call) => call.statement === statement && call.parameters.applicationId === applicationId);
  }

  #idleConnection(): IsolatedConnection {
    const idle = this.#connections.filter(({ running }) => !running);
    const ready = idle.find(({ isBackingOff }) => !isBackingOff);
    if (ready) return ready;
    // One that is backing off rejects the statement at once.
    if (idle[0] && this.#connections.length >= this.#capacity) return idle[0];
    const opened = this.#open();
    this.#connections.push(opened);
    return opened;
  }

  #closeIdle(): void {
    for (const connection of this.#connections) if (!connection.running) connection.close().catch(() => {});
    this.#connections = this.#connections.filter(({ running }) => running);
  }
}
