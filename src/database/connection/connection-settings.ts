import { drizzle } from 'drizzle-orm/postgres-js';
import type { PostgresClient } from '../sql/driver.ts';
import { ConnectionFailedError, StandbyError } from '../sql/errors.ts';
import type { Db } from '../sql/statement.ts';
import type { ClientTarget } from './open-client.ts';
import { type Answer, encodeValues, isOutdatedPlan, type Wire } from './wire.ts';

export interface Timeouts {
  readonly statementTimeoutMs: number;
  /** After this wait for a lock Postgres cancels the statement. 0 for no limit. */
  readonly lockTimeoutMs: number;
}

/**
 * Without it, Citus refuses a transaction that changes several tables with foreign keys, and now and then a statement
 * that changes a reference table and rows of several shards. On other databases it does nothing.
 */
export const handleShardsInTurn = (set: 'set' | 'set local') => `${set} citus.multi_shard_modify_mode = 'sequential'`;

/**
 * Set in each transaction, whose statements find rows by an index, in its order. Postgres keeps the plans of statements: one
 * that it made while a table was short, or had few instants, may read the whole table, or search each instant and sort,
 * when the table is long. Up to version 17 it adds 10^10 to the cost of a plan that must sort all the same, and would
 * therefore compile the statement for hundreds of milliseconds, at each execution.
 */
export const PREFER_INDEXES = 'set local enable_seqscan = off; set local enable_sort = off; set local jit = off';

/**
 * Sets the schema and the timeouts of a connection's statements, by `SET`: poolers refuse them as startup parameters.
 * Behind a pooler other clients use the same connection to Postgres, so each statement gets a transaction and `SET
 * LOCAL`.
 */
export class ConnectionSettings {
  /** Builds statements of Drizzle's query builder, and sends them. */
  readonly db: Db;
  #wire: Wire | undefined;
  #timeouts: Timeouts;
  readonly #schema: string;
  #isPooled: boolean;
  #isInTransaction = false;

  /** `isPooled`: true if a pooler is declared; otherwise `open` detects it. */
  constructor(timeouts: Timeouts, { isPooled, schema }: Pick<ClientTarget, 'isPooled' | 'schema'>) {
    this.#timeouts = timeouts;
    this.#isPooled = isPooled;
    this.#schema = schema;
    // The parts of a client of postgres.js that Drizzle uses.
    const unsafe = (text: string, parameters: readonly unknown[]) => {
      const { promise, resolve, reject } = Promise.withResolvers<Answer['rows']>();
      this.execute(text, parameters, ({ error, rows }) => (error ? reject(error) : resolve(rows)));
      return Object.assign(promise, { values: () => promise });
    };
    const client: object = { options: { parsers: {}, serializers: {} }, unsafe };
    this.db = drizzle(client as PostgresClient);
  }

  get isOpen(): boolean {
    return this.#wire !== undefined;
  }

  /** Opens the connection by postgres.js, and then takes it over. @throws StandbyError */
  async open(client: PostgresClient, takeOver: () => Wire): Promise<void> {
    // Anything: postgres.js connects for the first query.
    await client.unsafe('');
    const wire = takeOver();
    const { error, rows } = await new Promise<Answer>((resolve) =>
      wire.execute('select pg_backend_pid(), pg_is_in_recovery()', encodeValues([]), resolve),
    );
    if (error) throw error;
    const [[pid, isStandby] = []] = rows;
    if (isStandby) throw new StandbyError();
    // A pooler reports a made-up backend PID, so a mismatch reveals it.
    if (pid !== wire.library.pid) this.#isPooled = true;
    this.#wire = wire;
    this.#applySettings();
  }

  /**
   * Sends a statement with the schema and the timeouts, prepared. If a table has changed since, it is sent a second time.
   *
   * @throws Error before anything is sent, for a value that is no parameter
   */
  execute(text: string, parameters: readonly unknown[], onAnswer: (answer: Answer) => void): void {
    const values = encodeValues(parameters);
    const isRepeatable = !this.#isInTransaction;
    this.#execute(text, values, (answer) => {
      if (isRepeatable && answer.error && isOutdatedPlan(answer.error)) this.#execute(text, values, onAnswer);
      else onAnswer(answer);
    });
  }

  /** Applies to statements that are sent afterwards. */
  setStatementTimeout(statementTimeoutMs: number): void {
    this.#timeouts = { ...this.#timeouts, statementTimeoutMs };
    if (this.#wire) this.#applySettings();
  }

  /** Begins a transaction, of which all statements are parts until `end`. */
  async begin(statementTimeoutMs: number): Promise<void> {
    this.#timeouts = { ...this.#timeouts, statementTimeoutMs };
    this.#isInTransaction = true;
    const settings = this.#isPooled
      ? this.#settings('set local')
      : `set local statement_timeout = ${statementTimeoutMs}`;
    await this.#command(`begin; ${settings}; ${PREFER_INDEXES}`);
  }

  /** Commits or rolls back. @throws Error if Postgres has not committed, because an earlier statement failed */
  async end(how: 'commit' | 'rollback'): Promise<void> {
    this.#isInTransaction = false;
    if ((await this.#command(how)) !== how.toUpperCase()) throw new Error('The transaction was rolled back');
  }

  get #open(): Wire {
    if (!this.#wire) throw new ConnectionFailedError('The connection is not open');
    return this.#wire;
  }

  #applySettings(): void {
    if (this.#isPooled) return;
    // If they cannot be set, later statements must fail: they would use other tables, or never end.
    this.#open.command(this.#settings('set'), ({ error }) => error && this.#open.close());
  }

  #settings(set: 'set' | 'set local'): string {
    const { statementTimeoutMs, lockTimeoutMs } = this.#timeouts;
    const timeouts = `${set} statement_timeout = ${statementTimeoutMs}; ${set} lock_timeout = ${lockTimeoutMs}`;
    return `${set} search_path = "${this.#schema}"; ${timeouts}; ${handleShardsInTurn(set)}`;
  }

  #command(text: string): Promise<string> {
    return new Promise((resolve, reject) =>
      this.#open.command(text, ({ error, tag }) => (error ? reject(error) : resolve(tag))),
    );
  }

  /** Behind a pooler, `begin`, the statement and `commit` are sent back to back. */
  #execute(text: string, values: string, onAnswer: (answer: Answer) => void): void {
    const wire = this.#open;
    if (!this.#isPooled || this.#isInTransaction) {
      wire.execute(text, values, onAnswer);
      return;
    }
    let failed: Answer | undefined;
    let answer: Answer | undefined;
    const note = (part: Answer) => {
      if (part.error) failed ??= part;
    };
    wire.command(`begin; ${this.#settings('set local')}`, note);
    wire.execute(text, values, (own) => {
      answer = own;
      note(own);
    });
    wire.command('commit', (end) => {
      note(end);
      onAnswer(failed ?? answer ?? end);
    });
  }
}
