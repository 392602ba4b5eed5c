import { sql } from 'drizzle-orm';
import { DatabaseUnavailableError, DeadlinePassedError, isLockTimeout } from './errors.ts';
import { IsolatedConnection } from './isolated-connection.ts';
import { LOCK_TIMEOUT_MS, LockIsolation } from './lock-isolation.ts';
import { readTarget } from './open-client.ts';
import { PipelinedConnection, ReconnectLimiter, TICK_MS } from './pipelined-connection.ts';
import type { Deadline, PlaceholderValues, Run, Statement, StatementCall } from './statement.ts';
import { StatementQueue } from './statement-queue.ts';

export { DatabaseUnavailableError, DeadlinePassedError } from './errors.ts';
export { type Db, type Deadline, type PlaceholderValues, placeholders, type Run, type Statement } from './statement.ts';

/** How many statements a connection has in flight: enough to keep Postgres busy, few enough that a lock delays few. */
const MAX_IN_FLIGHT = 16;

/** How many statements may wait for a connection; more are unavailable at once. */
const MAX_PENDING = 2_000;

/** The least number of statements that may wait for locks at the same time. */
const MIN_ISOLATED_CONNECTIONS = 8;

export interface DatabaseOptions {
  readonly connections: number;
  readonly statementTimeoutMs: number;
}

/** Runs statements on a pool of pipelined connections, each on the least busy one. */
export class Database {
  readonly #connections: PipelinedConnection[];
  readonly #queue = new StatementQueue();
  readonly #isolation: LockIsolation;
  /** For `ping` alone, so that no other statement delays it. */
  readonly #control: PipelinedConnection;
  readonly #timer: NodeJS.Timeout;

  constructor(url: string, { connections, statementTimeoutMs }: DatabaseOptions) {
    const options = { statementTimeoutMs, lockTimeoutMs: LOCK_TIMEOUT_MS, reconnects: new ReconnectLimiter() };
    const target = readTarget(url);
    const open = () => new PipelinedConnection(target, { ...options, name: 'usher pool' });
    this.#connections = Array.from({ length: connections }, open);
    const isolated = { ...options, name: 'usher lock isolation', lockTimeoutMs: 0 };
    const capacity = Math.max(MIN_ISOLATED_CONNECTIONS, connections);
    this.#isolation = new LockIsolation(capacity, () => new IsolatedConnection(target, isolated));
    this.#control = new PipelinedConnection(target, { ...options, name: 'usher control' });
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  /** @throws DatabaseUnavailableError when there is no answer by the deadline, or the PostgresError of the statement. */
  async run<Rows>(
    statement: Statement<Rows>,
    parameters: PlaceholderValues,
    deadline: Deadline,
    onLockWait?: () => void,
  ): Promise<Rows> {
    // A statement that nobody waits for must not take effect.
    if (performance.now() >= deadline) throw new DatabaseUnavailableError(new DeadlinePassedError());
    const call = { statement, parameters, deadline, onLockWait };
    if (this.#isolation.has(statement)) return this.#isolation.run(call);
    const connection = this.#queue.length === 0 ? this.#nextConnection() : undefined;
    if (connection) return this.#runOn(connection, call);
    if (this.#isDown) throw new DatabaseUnavailableError('Every connection has just failed');
    if (this.#queue.length >= MAX_PENDING) throw new DatabaseUnavailableError('Too many statements wait');
    const rows = this.#queue.add(call);
    this.#startWaiting();
    return rows;
  }

  /** Returns `run` for one call, all of whose statements end by its deadline. */
  within(deadline: Deadline, onLockWait?: () => void): Run {
    return (statement, parameters) => this.run(statement, parameters, deadline, onLockWait);
  }

  /** Resolves when Postgres answers, and rejects when it does not by the deadline. */
  async ping(deadline: Deadline): Promise<void> {
    await this.#control.run({ statement: selectOne, parameters: {}, deadline });
  }

  /** Gives statements in flight a moment to finish. */
  async close(): Promise<void> {
    this.#queue.rejectAll('The database is closed');
    await Promise.all([...this.#connections, this.#isolation, this.#control].map((part) => part.close()));
    clearInterval(this.#timer);
  }

  get #isDown(): boolean {
    return this.#connections.every(({ isBackingOff }) => isBackingOff);
  }

  #nextConnection(): PipelinedConnection | undefined {
    let next: PipelinedConnection | undefined;
    for (const connection of this.#connections) {
      if (connection.pending < (next?.pending ?? MAX_IN_FLIGHT) && !connection.isBackingOff) next = connection;
    }
    return next;
  }

  async #runOn<Rows>(connection: PipelinedConnection, call: StatementCall<Rows>): Promise<Rows> {
    try {
      return await connection.run(call);
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      this.#isolation.add(call.statement);
    } finally {
      this.#startWaiting();
    }
    return this.#isolation.run(call);
  }

  #startWaiting(): void {
    for (let first = this.#queue.first; first; first = this.#queue.first) {
      const isIsolated = this.#isolation.has(first.statement);
      const connection = isIsolated ? undefined : this.#nextConnection();
      if (!isIsolated && !connection) return;
      this.#queue.startFirst((call) => (connection ? this.#runOn(connection, call) : this.#isolation.run(call)));
    }
  }

  #tick(): void {
    const now = performance.now();
    for (const connection of [...this.#connections, this.#control]) connection.tick(now);
    this.#queue.rejectLate(now);
    if (this.#isDown) this.#queue.rejectAll('Every connection has just failed');
    this.#startWaiting();
    this.#isolation.tick(now);
  }
}

const selectOne: Statement<unknown> = (db) => db.select({ one: sql`1` }).from(sql`(select) as nothing`).prepare('ping');
