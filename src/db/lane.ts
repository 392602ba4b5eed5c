/**
 * One connection to Postgres.
 *
 * postgres.js slows down with every query once a pool has opened more than one connection
 * (porsager/postgres#747), and under faults it can leave queries pending for ever (#1089, #1193).
 * So each lane is a client with a single connection, every statement has a deadline, and a
 * connection that fails or stops answering is thrown away whole.
 */
import { DrizzleQueryError } from 'drizzle-orm';
import postgres from 'postgres';
import { Connection, ConnectionFailedError, type Parameters, type Statement } from './connection.ts';

export type { Parameters, Statement } from './connection.ts';

/** The instant, in milliseconds of `performance.now()`, after which nobody waits for an answer. */
export type Deadline = number;

/** Postgres cannot be reached, did not answer in time, or refuses work for now. Worth a retry. */
export class DatabaseUnavailableError extends Error {
  constructor(cause: unknown) {
    super('The database is unavailable', { cause });
  }
}

/** How long a lane whose connection failed answers at once instead of connecting again. */
const REST_MS = 400;

export class Lane {
  #connection: Connection;
  #restUntil = 0;
  readonly #open: () => Connection;
  /** Postgres itself ends a statement before that: a connection that is silent for longer is lost. */
  readonly #patienceMs: number;

  constructor(url: string, statementTimeoutMs: number) {
    this.#patienceMs = statementTimeoutMs + REST_MS;
    this.#open = () => new Connection(url, statementTimeoutMs);
    this.#connection = this.#open();
  }

  /** Statements that have not been answered, waited for or not. */
  get pending(): number {
    return this.#connection.pending;
  }

  get isResting(): boolean {
    return performance.now() < this.#restUntil;
  }

  /** Throws DatabaseUnavailableError, or the PostgresError of a statement that Postgres refused. */
  async run<Row>(statement: Statement<Row>, parameters: Parameters, deadline: Deadline): Promise<Row> {
    const connection = this.#connection;
    const rows = connection.prepare(statement).execute(parameters);
    connection.pending++;
    try {
      return await this.#settleBefore(deadline, rows, connection);
    } catch (error) {
      const cause = error instanceof DrizzleQueryError ? error.cause : error;
      if (isConnectionFault(cause)) this.#replace(connection);
      else if (!isBusy(cause)) throw cause;
      throw new DatabaseUnavailableError(cause);
    }
  }

  /** Who does not wait for the rows any more leaves somebody behind to see that the connection lives. */
  #settleBefore<T>(deadline: Deadline, rows: Promise<T>, connection: Connection): Promise<T> {
    const startedAt = performance.now();
    return new Promise((resolve, reject) => {
      let timer = setTimeout(
        () => {
          reject(new DeadlinePassedError('No answer before the deadline'));
          watch();
        },
        Math.max(0, deadline - startedAt),
      );
      const watch = () => {
        const silentFor = performance.now() - Math.max(startedAt, connection.answeredAt);
        if (silentFor >= this.#patienceMs) this.#replace(connection);
        else timer = setTimeout(watch, this.#patienceMs - silentFor);
      };
      rows.then(resolve, reject).finally(() => {
        clearTimeout(timer);
        connection.pending--;
        connection.answeredAt = performance.now();
      });
    });
  }

  /** Nobody waits for statements any more: those under way have a moment to finish. */
  async close(): Promise<void> {
    await this.#connection.close();
  }

  #replace(failed: Connection): void {
    if (this.#connection !== failed) return;
    this.#restUntil = performance.now() + REST_MS;
    this.#connection = this.#open();
    failed.giveUp();
  }
}

/** The statement was not answered by its deadline. */
export class DeadlinePassedError extends Error {}

/** Whether the connection is lost or cannot be trusted any more. */
function isConnectionFault(error: unknown): boolean {
  if (error instanceof ConnectionFailedError) return true;
  if (error instanceof postgres.PostgresError) return /^(08|28|3D|57P|25006)/.test(error.code);
  return error instanceof Error && 'code' in error && /^(CONNECT|E[A-Z])/.test(String(error.code));
}

/** Whether Postgres may be well but would not do this now: a lock, a deadlock, a deadline, no room. */
function isBusy(error: unknown): boolean {
  if (error instanceof DeadlinePassedError) return true;
  return error instanceof postgres.PostgresError && /^(40|53|55P03|57014)/.test(error.code);
}
