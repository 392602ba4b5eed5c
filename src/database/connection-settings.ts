import { drizzle } from 'drizzle-orm/postgres-js';
import type postgres from 'postgres';
import { StandbyError } from './errors.ts';
import type { ClientTarget } from './open-client.ts';
import type { Db } from './statement.ts';

export interface Timeouts {
  readonly statementTimeoutMs: number;
  /** How long a statement waits for a lock before Postgres ends it; 0 for no limit. */
  readonly lockTimeoutMs: number;
}

/**
 * Gives statements their schema and timeouts. They are no startup parameters, which poolers refuse. Behind a pooler they
 * hold for one transaction, because the connection to Postgres is not ours alone.
 */
export class ConnectionSettings {
  /** Sends statements with the timeouts. */
  readonly db: Db;
  readonly #client: postgres.Sql;
  #timeouts: Timeouts;
  readonly #schema: string;
  #isPooled: boolean;
  #isOpen = false;

  /** `isPooled` where that is known beforehand. */
  constructor(
    client: postgres.Sql,
    timeouts: Timeouts,
    { isPooled, schema }: Pick<ClientTarget, 'isPooled' | 'schema'>,
  ) {
    this.#client = client;
    this.#timeouts = timeouts;
    this.#isPooled = isPooled;
    this.#schema = schema;
    // Drizzle calls nothing else of the client.
    const unsafe = (text: string, parameters?: never[], options?: postgres.UnsafeQueryOptions) => {
      const query = client.unsafe(text, parameters, options);
      return this.#isPooled ? this.#inTransaction(query) : query;
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

  /** Counts for the statements that follow. */
  setStatementTimeout(statementTimeoutMs: number): void {
    this.#timeouts = { ...this.#timeouts, statementTimeoutMs };
    if (this.#isOpen) this.#applySettings();
  }

  #applySettings(): void {
    if (this.#isPooled) return;
    // Without them the statements that follow must fail: they would use other tables, or never end.
    this.#client.unsafe(this.#settings('set')).catch(() => this.#client.end({ timeout: 0 }));
  }

  #settings(set: 'set' | 'set local'): string {
    const { statementTimeoutMs, lockTimeoutMs } = this.#timeouts;
    const timeouts = `${set} statement_timeout = ${statementTimeoutMs}; ${set} lock_timeout = ${lockTimeoutMs}`;
    return `${set} search_path = "${this.#schema}"; ${timeouts}`;
  }

  /** Returns what Drizzle uses of a query. `begin`, the query and `commit` are pipelined back to back. */
  #inTransaction(query: ReturnType<postgres.Sql['unsafe']>) {
    const send = async () => {
      const begun = this.#client.unsafe(`begin; ${this.#settings('set local')}`).execute();
      const [, rows] = await Promise.all([begun, query.execute(), this.#client.unsafe('commit').execute()]);
      return rows;
    };
    // Drizzle asks for values, if it does, before that.
    const rows = Promise.resolve().then(send);
    const values = () => {
      query.values();
      return rows;
    };
    return Object.assign(rows, { values });
  }
}
