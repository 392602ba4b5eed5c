import { Connection, type ConnectionOptions } from './connection.ts';
import { DatabaseUnavailableError, isConnectionFault, isTemporaryFailure } from './errors.ts';
import type { ClientTarget } from './open-client.ts';
import type { StatementExecution } from './statement.ts';

/** How often `tick` is called. */
export const TICK_MS = 20;

/** How long a connection that failed rejects statements at once instead of connecting again. */
const BACKOFF_MS = 400;

/** By how much a busy Postgres may be late to end a statement that has exceeded its timeout. */
const SILENCE_MARGIN_MS = 1_000;

/** The least time between two attempts to reconnect. */
const RECONNECT_INTERVAL_MS = 125;

/** Spreads out the reconnects of all connections, so that their number does not matter to Postgres. */
export class ReconnectLimiter {
  #nextAt = 0;
  /** How many connections have been replaced. */
  replaced = 0;

  /** Reserves the next attempt and returns its instant, in milliseconds of `performance.now()`. */
  reserve(): number {
    this.#nextAt = Math.max(performance.now() + BACKOFF_MS, this.#nextAt + RECONNECT_INTERVAL_MS);
    return this.#nextAt;
  }
}

export interface PipelinedConnectionOptions extends ConnectionOptions {
  readonly reconnects: ReconnectLimiter;
  /** Whether silence may mean that a commit waits for a standby. */
  areCommitsWaiting(): boolean;
}

/**
 * A connection that sends statements without waiting for the answers to earlier ones. It replaces its
 * client when that fails or falls silent. It is not a pool of postgres.js because a pool with several
 * connections slows down with every query (porsager/postgres#747).
 */
export class PipelinedConnection {
  #connection: Connection;
  #backOffUntil = 0;
  #answeredBefore = 0;
  #silentTicks = 0;
  readonly #target: ClientTarget;
  protected readonly options: PipelinedConnectionOptions;
  /** Counts ticks instead of time: a stalled event loop has answers that it has not read yet. */
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

  /** The statement that Postgres runs on it, whether or not its caller still waits. */
  get running(): StatementExecution<unknown> | undefined {
    return this.#connection.running;
  }

  get isOpen(): boolean {
    return this.#connection.isOpen;
  }

  /** For how long it has answered none of its statements. */
  get silentMs(): number {
    return this.#silentTicks * TICK_MS;
  }

  get isBackingOff(): boolean {
    return this.#backOffUntil !== 0 && performance.now() < this.#backOffUntil;
  }

  /** @throws DatabaseUnavailableError, or the PostgresError of a statement that Postgres refused. */
  async run<Rows>(execution: StatementExecution<Rows>): Promise<Rows> {
    if (this.isBackingOff) throw new DatabaseUnavailableError('The connection has just failed');
    this.#replaceIfLost();
    const connection = this.#connection;
    try {
      return await connection.run(execution);
    } catch (cause) {
      if (isConnectionFault(cause)) this.#replaceLater(connection);
      else if (!isTemporaryFailure(cause)) throw cause;
      throw new DatabaseUnavailableError(cause);
    }
  }

  /** Counts for the statements that follow on this connection. */
  protected setStatementTimeout(timeoutMs: number): void {
    this.#replaceIfLost();
    this.#connection.setStatementTimeout(timeoutMs);
  }

  /** Abandons late statements, and replaces a connection to an old primary, or one that has been silent for too long. */
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
    // With statements in flight their failure replaces the connection, after a backoff.
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
