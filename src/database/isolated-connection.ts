import { sql } from 'drizzle-orm';
import { DatabaseUnavailableError, DeadlinePassedError } from './errors.ts';
import type { PipelinedConnection } from './pipelined-connection.ts';
import type { Statement, StatementCall } from './statement.ts';

/** A connection that runs one statement at a time. Postgres ends the statement at its deadline, without effect. */
export class IsolatedConnection {
  readonly #connection: PipelinedConnection;
  readonly #statementTimeoutMs: number;
  #call: StatementCall<unknown> | undefined;
  #startedAt = 0;

  constructor(connection: PipelinedConnection, statementTimeoutMs: number) {
    this.#connection = connection;
    this.#statementTimeoutMs = statementTimeoutMs;
  }

  /** The statement that Postgres runs, whether or not its caller still waits. */
  get call(): StatementCall<unknown> | undefined {
    return this.#connection.pending > 0 ? this.#call : undefined;
  }

  /** When the last statement started, in milliseconds of `performance.now()`. */
  get startedAt(): number {
    return this.#startedAt;
  }

  get isBackingOff(): boolean {
    return this.#connection.isBackingOff;
  }

  async run<Rows>(call: StatementCall<Rows>): Promise<Rows> {
    this.#call = call;
    this.#startedAt = performance.now();
    const timeoutMs = Math.min(Math.ceil(call.deadline - this.#startedAt), this.#statementTimeoutMs);
    const { deadline } = call;
    // When this fails, so does the connection, and with it the call.
    this.#connection.run({ statement: setStatementTimeout, parameters: { timeoutMs }, deadline }).catch(() => {});
    try {
      return await this.#connection.run(call);
    } catch (error) {
      const isLate = error instanceof DatabaseUnavailableError && performance.now() >= deadline;
      throw isLate ? new DatabaseUnavailableError(new DeadlinePassedError()) : error;
    }
  }

  tick(now: number): void {
    this.#connection.tick(now);
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }
}

const setStatementTimeout: Statement<unknown> = (db) =>
  db
    .select({ set: sql`set_config('statement_timeout', ${sql.placeholder('timeoutMs')}::text, false)` })
    .from(sql`(select) as nothing`)
    .prepare('set_statement_timeout');
