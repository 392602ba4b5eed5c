import type { IsolatedConnection } from '../connection/pipelined-connection.ts';
import { StatementQueue } from '../connection/statement-queue.ts';
import { DatabaseUnavailableError, NotIsolatedError } from '../sql/errors.ts';
import type { Receiver, Statement, StatementExecution } from '../sql/statement.ts';

/**
 * `lock_timeout` on shared connections, where other statements wait behind a blocked one. It exceeds
 * TABLE_LOCK_TIMEOUT_MS, so most tries of a migration isolate no statement.
 */
export const LOCK_TIMEOUT_MS = 60;

/** How long a statement of an application stays isolated after it last waited for a lock. */
const ISOLATION_MS = 1_000;

/**
 * If more applications wait in the same statement, it is isolated for all: then a table is locked, and not only rows.
 */
const MAX_WAITING_APPLICATIONS = 2;

/**
 * How many executions of a statement may wait for one application. Further ones fail at once with
 * DatabaseUnavailableError.
 */
const MAX_WAITING = 64;

/**
 * Runs statements that wait for locks on separate connections, where no other statement waits behind them. A statement
 * is isolated only for the application of its parameters: most locks are on rows, and other applications have other
 * rows.
 */
export class LockIsolation {
  readonly #capacity: number;
  readonly #open: () => IsolatedConnection;
  /** When the isolation of a statement ends for each application ID, in milliseconds of `performance.now()`. */
  readonly #isolated = new Map<Statement<unknown>, Map<unknown, number>>();
  readonly #queue = new StatementQueue();
  #connections: IsolatedConnection[] = [];
  #isStarting = false;

  /** `capacity` is how many statements run at the same time. */
  constructor(capacity: number, open: () => IsolatedConnection) {
    this.#capacity = capacity;
    this.#open = open;
  }

  get connections(): readonly IsolatedConnection[] {
    return this.#connections;
  }

  /** The number of statements on these connections, which a lock may block, and of those not yet sent. */
  get load() {
    return { inFlight: this.#connections.filter(({ running }) => running).length, waiting: this.#queue.length };
  }

  /** Returns whether the statement is isolated for the application of the execution. */
  has({ statement, parameters: { applicationId } }: StatementExecution<unknown>): boolean {
    const applications = this.#isolated.get(statement);
    if (!applications) return false;
    return applications.size > MAX_WAITING_APPLICATIONS || applications.has(applicationId);
  }

  /** Isolates the statement of an execution that has just waited for a lock. */
  isolate({ statement, parameters: { applicationId } }: StatementExecution<unknown>): void {
    const applications = this.#isolated.get(statement) ?? new Map<unknown, number>();
    this.#isolated.set(statement, applications.set(applicationId, performance.now() + ISOLATION_MS));
  }

  /** Rejects with NotIsolatedError if the isolation ends before a connection is free. */
  start<Rows>(execution: StatementExecution<Rows>, receiver: Receiver<Rows>): void {
    execution.onLockWait?.();
    if (!this.#mayStart(execution) && this.#countWaitingLike(execution) >= MAX_WAITING) {
      receiver.reject(new DatabaseUnavailableError('Too many statements wait for a lock'));
      return;
    }
    this.#queue.add(execution, receiver);
    this.#startWaiting();
  }

  tick(now: number): void {
    for (const connection of this.#connections) {
      connection.tick(now);
      const { running, silentMs } = connection;
      if (running && silentMs > LOCK_TIMEOUT_MS) this.isolate(running);
    }
    this.#endIsolation(now);
    this.#queue.rejectLate(now);
    this.#startWaiting();
    this.#releaseOne();
    if (this.#isolated.size === 0) this.#closeIdle();
  }

  async close(): Promise<void> {
    this.#queue.rejectAll('The database is closed');
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }

  #startWaiting(): void {
    // Those that fail at once call it again.
    if (this.#isStarting) return;
    this.#isStarting = true;
    const mayStart = (execution: StatementExecution<unknown>) => this.#mayStart(execution);
    while (this.#queue.startFirst((execution, receiver) => this.#start(execution, receiver), mayStart));
    this.#isStarting = false;
  }

  #endIsolation(now: number): void {
    for (const [statement, applications] of this.#isolated) {
      for (const [applicationId, until] of applications) if (until < now) applications.delete(applicationId);
      if (applications.size === 0) this.#isolated.delete(statement);
    }
  }

  /**
   * Releases one execution in a tick: if it still has to wait for a lock, it isolates the statement for the others
   * again.
   */
  #releaseOne(): void {
    this.#queue.startFirst(
      (_, { reject }) => reject(new NotIsolatedError()),
      (execution) => !this.has(execution),
    );
  }

  #start(execution: StatementExecution<unknown>, receiver: Receiver<unknown>): void {
    this.#idleConnection().start(execution, {
      resolve: (rows) => {
        receiver.resolve(rows);
        this.#startWaiting();
      },
      reject: (error) => {
        receiver.reject(error);
        this.#startWaiting();
      },
    });
  }

  /**
   * Dynamic thresholds (Choudhury and Hahne, 1998): an application may use as many connections as are free, and a
   * statement twice as many. So neither one locked row nor one locked table takes all of them.
   */
  #mayStart({ statement, parameters: { applicationId } }: StatementExecution<unknown>): boolean {
    const executions = this.#connections.flatMap(({ running }) => running ?? []);
    const free = this.#capacity - executions.length;
    const ofStatement = executions.filter((execution) => execution.statement === statement).length;
    const ofApplication = executions.filter(({ parameters }) => parameters.applicationId === applicationId).length;
    return ofStatement < 2 * free && (applicationId === undefined || ofApplication < free);
  }

  #countWaitingLike({ statement, parameters: { applicationId } }: StatementExecution<unknown>): number {
    return this.#queue.count(
      (execution) => execution.statement === statement && execution.parameters.applicationId === applicationId,
    );
  }

  #idleConnection(): IsolatedConnection {
    const idle = this.#connections.filter(({ running }) => !running);
    const ready = idle.find(({ isBackingOff }) => !isBackingOff);
    if (ready) return ready;
    // A connection that is backing off rejects the statement at once.
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
