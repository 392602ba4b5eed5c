import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import type postgres from 'postgres';
import { Database, type PlaceholderValues, type Statement } from '../../src/database/database.ts';
import { openClient } from '../../src/database/open-client.ts';

export interface SentStatement {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/** A database that runs statements on one connection and records them in order. */
export class RecordingDatabase extends Database implements AsyncDisposable {
  readonly sent: SentStatement[] = [];
  protected readonly client: postgres.Sql;
  readonly #db: PostgresJsDatabase;

  constructor(url: string) {
    super(url, { connections: 1, statementTimeoutMs: 5_000 });
    this.client = openClient(url, { max: 1, fetch_types: false, onnotice: () => {} });
    const logQuery = (sql: string, parameters: unknown[]) => void this.sent.push({ sql, parameters });
    this.#db = drizzle(this.client, { logger: { logQuery } });
  }

  override async run<Rows>(statement: Statement<Rows>, parameters: PlaceholderValues): Promise<Rows> {
    return statement(this.#db).execute(parameters);
  }

  /** Returns the last statement with some of its parameters replaced. */
  lastStatement(replacements: Readonly<Record<string, string>>): [sql: string, parameters: string[]] {
    const last = this.sent.at(-1);
    if (!last) throw new Error('No statement was sent');
    return [last.sql, last.parameters.map((value) => replacements[String(value)] ?? String(value))];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.client.end(), this.close()]);
  }
}
