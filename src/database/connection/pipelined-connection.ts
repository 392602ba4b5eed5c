import { createLateError, DatabaseUnavailableError, isConnectionFault, isTemporaryFailure } from '../sql/errors.ts';
import type { Receiver, StatementExecution } from '../sql/statement.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import type { ClientTarget } from './open-client.ts';

/** How often `tick` is called. */
export const TICK_MS = 20;

/** For at least this long after a failure, a connection rejects statements at once instead of reconnecting. */
const BACKOFF_MS = 400;

/** How long after its timeout a busy Postgres may take to cancel a statement. */
const SILENCE_MARGIN_MS = 1_000;

/** The least time between two attempts to reconnect. */
const RECONNECT_INTERVAL_MS = 125;

/** Limits the rate of reconnects, so that the load on Postgres does not depend on the number of connections. */
export class ReconnectLimiter {
  #nextAt = 0;
  /** The number of replaced connections since the start. */
  replaced = 0;

  /** Reserves the next reconnect and returns its instant, in milliseconds of `performance.now()`. */
  reserve(): number {
    this.#nextAt = Math.max(performance.now() + BACKOFF_MS, this.#nextAt + RECONNECT_INTERVAL_MS);
    return this.#nextAt;
  }
}

export interface PipelinedConnectionOptions extends ConnectionOptions {
  readonly reconnects: ReconnectLimiter;
  /** Returns whether a connection may be silent because its commit waits for a standby. */
  areCommitsWaiting(): boolean;
}

/**
 * A connection that sends statements without waiting for the answers to earlier ones. When its client fails or falls
 * silent, it opens a new one.
 */
export class PipelinedConnection {
  #connection: Connection;
  #backOffUntil = 0;
  #answeredBefore = 0;
  #silentTicks = 0;
  readonly #target: ClientTarget;
  protected readonly options: PipelinedConnectionOptions;
  /**
   * In ticks rather than milliseconds: after a stall of the event loop, answers may have arrived that are not read yet.
   */
  readonly #maxSilentTicks: number;

  constructor(target: ClientTarget, options: PipelinedConnectionOptions) {
    this.#target = target;
    this.options = options;
    this.#maxSilentTicks = (options.statementTimeoutMs + SILENCE_MARGIN_MS) / TICK_MS;
    this.#connection = new Connection(target, options);
  }

  /** How many statements have not been answered, including those whose deadline has passed. */
  get pending(): number {
    return this.#connection.pending;
  }

  /** The statement that Postgres runs on this connection, even if its caller no longer waits. */
  get running(): StatementExecution<unknown> | undefined {
    return this.#connection.running;
  }

  get isOpen(): boolean {
    return this.#connection.isOpen;
  }

  /** How long statements have been pending without any answer. */
  get silentMs(): number {
    return this.#silentTicks * TICK_MS;
  }

  get isBackingOff(): boolean {
    return this.#backOffUntil !== 0 && performance.now() < this.#backOffUntil;
  }

  run<Rows>(execution: StatementExecution<Rows>): Promise<Rows> {
    return new Promise((resolve, reject) => this.start(execution, { resolve, reject }));
  }

  /** Rejects with DatabaseUnavailableError, or the PostgresError of a statement that Postgres refused. */
  start<Rows>(execution: StatementExecution<Rows>, { resolve, reject }: Receiver<Rows>): void {
    if (this.isBackingOff) {
      reject(new DatabaseUnavailableError('The connection has just failed'));
      return;
    }
    this.#replaceIfLost();
    const connection = this.#connection;
    const rejectWith = (cause: unknown) => {
      if (isConnectionFault(cause)) this.#replaceLater(connection);
      reject(isConnectionFault(cause) || isTemporaryFailure(cause) ? new DatabaseUnavailableError(cause) : cause);
    };
    connection.start(execution, { resolve, reject: rejectWith });
  }

  /** Applies to statements that are sent afterwards on this connection. */
  protected setStatementTimeout(timeoutMs: number): void {
    this.#replaceIfLost();
    this.#connection.setStatementTimeout(timeoutMs);
  }

  /** Rejects late statements. Replaces a connection to an old primary, or one that has been silent for too long. */
  tick(now: number): void {
    if (this.#connection.isOutdated) this.#replace(this.#connection);
    const { pending, answered } = this.#connection;
    this.#connection.abandonLate(now);
    this.#silentTicks = pending === 0 || answered !== this.#answeredBefore ? 0 : this.#silentTicks + 1;
    this.#answeredBefore = answered;
    if (this.#silentTicks > this.#maxSilentTicks && !this.options.areCommitsWaiting())
      this.#replaceLater(this.#connection);
  }

  /** Gives statements in flight a moment to finish. */
  async close(): Promise<void> {
    await this.#connection.close();
  }

  #replaceIfLost(): void {
    // If statements are in flight, they fail, and `run` replaces the connection.
    if (this.#connection.isLost && this.pending === 0) this.#replace(this.#connection);
  }

  #replaceLater(failed: Connection): void {
    if (this.#connection !== failed) return;
    this.#backOffUntil = this.options.reconnects.reserve();
    this.options.primary.forget();
    this.#replace(failed);
  }

  #replace(failed: Connection): void {
    this.options.reconnects.replaced++;
    this.#connection = new Connection(this.#target, this.options);
    this.#silentTicks = 0;
    failed.giveUp();
  }
}

/**
 * A connection that runs one statement at a time. At its deadline Postgres cancels the statement, so it has no effect.
 */
export class IsolatedConnection extends PipelinedConnection {
  override start<Rows>(execution: StatementExecution<Rows>, { resolve, reject }: Receiver<Rows>): void {
    const { deadline } = execution;
    const remainingMs = Math.ceil(deadline - performance.now());
    // At least 1 ms: 0 would mean no limit, and Postgres refuses negative limits.
    this.setStatementTimeout(Math.max(1, Math.min(remainingMs, this.options.statementTimeoutMs)));
    const rejectWith = (error: unknown) => {
      const isLate = error instanceof DatabaseUnavailableError && performance.now() >= deadline;
      reject(isLate ? createLateError() : error);
    };
    super.start(execution, { resolve, reject: rejectWith });
  }
}
