import { drizzle } from 'drizzle-orm/postgres-js';
import type { PostgresClient, QueryOptions } from '../sql/driver.ts';
import { StandbyError } from '../sql/errors.ts';
import type { Db } from '../sql/statement.ts';
import type { ClientTarget } from './open-client.ts';

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
 * when the table is long.
 */
export const PREFER_INDEXES = 'set local enable_seqscan = off; set local enable_sort = off';

/**
 * Sets the schema and the timeouts of a connection's statements, by `SET`: poolers refuse them as startup parameters.
 * Behind a pooler other clients use the same connection to Postgres, so each statement gets a transaction and `SET
 * LOCAL`.
 */
export class ConnectionSettings {
  /** Sends statements with the schema and the timeouts. */
  readonly db: Db;
  readonly #client: PostgresClient;
  #timeouts: Timeouts;
  readonly #schema: string;
  #isPooled: boolean;
  #isInTransaction = false;
  #isOpen = false;

  /** `isPooled`: true if a pooler is declared; otherwise `open` detects it. */
  constructor(
    client: PostgresClient,
    timeouts: Timeouts,
    { isPooled, schema }: Pick<ClientTarget, 'isPooled' | 'schema'>,
  ) {
    this.#client = client;
    this.#timeouts = timeouts;
    this.#isPooled = isPooled;
    this.#schema = schema;
    // Drizzle and templates send statements by `unsafe` only.
    const unsafe = (text: string, parameters?: never[], options?: QueryOptions) => {
      const query = client.unsafe(text, parameters, options);
      return this.#isPooled && !this.#isInTransaction ? this.#inTransaction(query) : query;
    };
    this.db = drizzle(Object.assign(Object.create(client), { unsafe }));
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Connects. @throws StandbyError */
  async open(): Promise<void> {
    const rows = await this.#client.unsafe('select pg_backend_pid() as pid, pg_is_in_recovery() as "isStandby"');
    const [row] = rows;
    if (row?.isStandby) throw new StandbyError();
    // A pooler reports a made-up backend PID, so a mismatch reveals it.
    if (row?.pid !== rows.state?.pid) this.#isPooled = true;
    this.#isOpen = true;
    this.#applySettings();
  }

  /** Applies to statements that are sent afterwards. */
  setStatementTimeout(statementTimeoutMs: number): void {
    this.#timeouts = { ...this.#timeouts, statementTimeoutMs };
    if (this.#isOpen) this.#applySettings();
  }

  /** Begins a transaction, of which all statements are parts until `end`. */
  async begin(statementTimeoutMs: number): Promise<void> {
    this.#timeouts = { ...this.#timeouts, statementTimeoutMs };
    this.#isInTransaction = true;
    const settings = this.#isPooled
      ? this.#settings('set local')
      : `set local statement_timeout = ${statementTimeoutMs}`;
    await this.#client.unsafe(`begin; ${settings}; ${PREFER_INDEXES}`);
  }

  /** Commits or rolls back. @throws Error if Postgres has not committed, because an earlier statement failed */
  async end(how: 'commit' | 'rollback'): Promise<void> {
    this.#isInTransaction = false;
    const { command } = await this.#client.unsafe(how);
    if (command !== how.toUpperCase()) throw new Error('The transaction was rolled back');
  }

  #applySettings(): void {
    if (this.#isPooled) return;
    // If they cannot be set, later statements must fail: they would use other tables, or never end.
    this.#client.unsafe(this.#settings('set')).catch(() => this.#client.end({ timeout: 0 }));
  }

  #settings(set: 'set' | 'set local'): string {
    const { statementTimeoutMs, lockTimeoutMs } = this.#timeouts;
    const timeouts = `${set} statement_timeout = ${statementTimeoutMs}; ${set} lock_timeout = ${lockTimeoutMs}`;
    return `${set} search_path = "${this.#schema}"; ${timeouts}; ${handleShardsInTurn(set)}`;
  }

  /** Returns the parts of a query that Drizzle uses. `begin`, the query and `commit` are pipelined back to back. */
  #inTransaction(query: ReturnType<PostgresClient['unsafe']>) {
    const send = async () => {
      const begin = this.#client.unsafe(`begin; ${this.#settings('set local')}`).execute();
      const [, rows] = await Promise.all([begin, query.execute(), this.#client.unsafe('commit').execute()]);
      return rows;
    };
    // In a microtask: a caller who wants values asks for them synchronously, before the query is sent.
    const rows = Promise.resolve().then(send);
    const values = () => {
      query.values();
      return rows;
    };
    return Object.assign(rows, { values });
  }
}
