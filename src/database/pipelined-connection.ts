/**
 * One connection to Postgres after the other.
 *
 * postgres.js slows down with every query once a pool has opened more than one connection
 * (porsager/postgres#747), and under faults it can leave queries pending for ever (#1089, #1193).
 * So each lane is a client with a single connection, every statement has a deadline, and a
 * connection that fails or stops answering is thrown away whole.
 */
import postgres from 'postgres';
import {
  Connection,
  ConnectionFailedError,
  type Deadline,
  DeadlinePassedError,
  type PlaceholderValues,
  type Statement,
} from './connection.ts';

/** Postgres cannot be reached, did not answer in time, or refuses work for now. Worth a retry. */
export class DatabaseUnavailableError extends Error {
  /** For the log: a code, or words of ours; nothing of a caller's. */
  readonly reason: string;

  constructor(why: string | Error) {
    const reason = typeof why === 'string' ? why : 'code' in why ? String(why.code) : why.message;
    super(`The database is unavailable: ${reason}`, typeof why === 'string' ? undefined : { cause: why });
    this.reason = reason;
  }
}

/** How many statements may wait on a lane; more are unavailable at once. */
export const MAX_PENDING = 2_000;

/** How often a lane is looked after. */
export const TICK_MS = 20;

/**
 * A lane is stuck when it has had work, and finished none of it, for more ticks than this. Time would not
 * do, here and wherever ticks are counted: a process that was busy with something else has not read what
 * has been answered.
 */
const STUCK_TICKS = 4;

/** How long a lane whose connection failed refuses statements at once instead of connecting again. */
const BACKOFF_MS = 400;

/** How soon after a failed connection of one lane another may connect again. */
const SPACING_MS = 125;

/** Connections that have failed connect again one after the other, however many there are. */
export class ReconnectLimiter {
  #nextAt = 0;

  /** The instant, in milliseconds of `performance.now()`, at which who asks may try again. */
  reserve(): number {
    this.#nextAt = Math.max(performance.now() + BACKOFF_MS, this.#nextAt + SPACING_MS);
    return this.#nextAt;
  }
}

export interface PipelinedConnectionOptions {
  readonly statementTimeoutMs: number;
  readonly recovery: ReconnectLimiter;
}

export class PipelinedConnection {
  #connection: Connection;
  #restUntil = 0;
  #isRetired = false;
  #finished = 0;
  #finishedBefore = 0;
  #answeredBefore = 0;
  #ticksUnfinished = 0;
  #ticksSilent = 0;
  readonly #open: () => Connection;
  readonly #recovery: ReconnectLimiter;
  /** Postgres itself ends a statement before that: a connection that is silent for longer is lost. */
  readonly #patienceTicks: number;

  constructor(url: string, { statementTimeoutMs, recovery }: PipelinedConnectionOptions) {
    this.#patienceTicks = (statementTimeoutMs + BACKOFF_MS) / TICK_MS;
    this.#recovery = recovery;
    this.#open = () => new Connection(url, statementTimeoutMs);
    this.#connection = this.#open();
  }

  /** What Postgres knows its connection by. */
  get name(): string {
    return this.#connection.name;
  }

  /** Statements that have not been answered, waited for or not. */
  get pending(): number {
    return this.#connection.sent.length;
  }

  /** Those of them that somebody waits for. */
  get waiting(): number {
    return this.#connection.sent.length - this.#connection.abandoned;
  }

  /** The statement that Postgres is at, and that the others wait for. */
  get inFlight(): { readonly statement: Statement<unknown> } | undefined {
    return this.#connection.sent[0];
  }

  /** Whether nobody waits for the statement under way, or statements of other kinds wait for its end. */
  get isBlocked(): boolean {
    const [first, ...others] = this.#connection.sent;
    return first !== undefined && (first.isAbandoned || others.some(({ statement }) => statement !== first.statement));
  }

  get isStuck(): boolean {
    return this.#ticksUnfinished > STUCK_TICKS;
  }

  get isBackingOff(): boolean {
    return this.#restUntil !== 0 && performance.now() < this.#restUntil;
  }

  /** Throws DatabaseUnavailableError, or the PostgresError of a statement that Postgres refused. */
  async run<Rows>(statement: Statement<Rows>, parameters: PlaceholderValues, deadline: Deadline): Promise<Rows> {
    if (this.isBackingOff) throw new DatabaseUnavailableError('The connection has just failed');
    // Lost while it was idle. Where statements wait on it, they are about to fail, and the lane to rest.
    if (this.#connection.isLost && this.pending === 0) this.#replace(this.#connection);
    const connection = this.#connection;
    try {
      const rows = await connection.run(statement, parameters, deadline);
      this.#finished++;
      return rows;
    } catch (cause) {
      if (isConnectionFault(cause)) this.#replaceLater(connection);
      else if (!isBusy(cause)) {
        this.#finished++;
        throw cause;
      }
      throw new DatabaseUnavailableError(cause);
    }
  }

  /** Ends what is late, and a connection that is silent for too long. */
  tick(now: number): void {
    const { sent, answered } = this.#connection;
    this.#connection.abandonLate(now);
    const isIdle = sent.length === 0;
    this.#ticksUnfinished = isIdle || this.#finished !== this.#finishedBefore ? 0 : this.#ticksUnfinished + 1;
    this.#ticksSilent = isIdle || answered !== this.#answeredBefore ? 0 : this.#ticksSilent + 1;
    this.#finishedBefore = this.#finished;
    this.#answeredBefore = answered;
    if (this.#ticksSilent > this.#patienceTicks) this.#replaceLater(this.#connection);
  }

  /** Postgres is about to be asked to cancel the statement under way. */
  markCancelling(): void {
    this.#connection.markCancelling();
  }

  /** Once its connection is lost, the lane does not connect again. */
  retire(): void {
    this.#isRetired = true;
  }

  /** Nobody waits for statements any more: those under way have a moment to finish. */
  async close(): Promise<void> {
    await this.#connection.close();
  }

  #replaceLater(failed: Connection): void {
    if (this.#connection !== failed) return;
    this.#restUntil = this.#isRetired ? Number.POSITIVE_INFINITY : this.#recovery.reserve();
    this.#replace(failed);
  }

  #replace(failed: Connection): void {
    if (this.#connection !== failed) return;
    this.#connection = this.#open();
    this.#ticksSilent = 0;
    failed.giveUp();
  }
}

/** Whether the connection is lost or cannot be trusted any more. */
function isConnectionFault(error: unknown): error is Error {
  if (error instanceof ConnectionFailedError) return true;
  if (error instanceof postgres.PostgresError) return /^(08|28|3D|57P|25006|53300)/.test(error.code);
  return error instanceof Error && 'code' in error && /^(CONNECT|E[A-Z])/.test(String(error.code));
}

/** Whether Postgres may be well but would not do this now: a lock, a deadlock, a deadline, no room. */
function isBusy(error: unknown): error is Error {
  if (error instanceof DeadlinePassedError) return true;
  return error instanceof postgres.PostgresError && /^(40|53|55P03|57014)/.test(error.code);
}
