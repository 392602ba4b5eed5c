import { randomUUID } from 'node:crypto';
import { fillPlaceholders } from 'drizzle-orm';
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import type postgres from 'postgres';
import { DEFAULT_SCHEMA } from '../../src/config/database-url.ts';
import { openClient } from '../../src/database/connection/open-client.ts';
import { Database, type PlaceholderValues, type Run, type Statement } from '../../src/database/pool/database.ts';
import { formOf } from '../../src/database/pool/statement-runner.ts';
import { BY_USHER, withAudit } from '../../src/domain/audit/audit-event.ts';

/** Stands for an ID that is new each time a statement is sent. */
const AUDIT_ID = randomUUID();

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
    super(url, { connections: 1, statementTimeoutMs: 60_000 });
    this.client = openClient(url, {
      max: 1,
      fetch_types: false,
      onnotice: () => {},
      connection: { search_path: DEFAULT_SCHEMA },
    });
    this.#db = drizzle(this.client);
  }

  override async run<Rows>(statement: Statement<Rows>, parameters: PlaceholderValues): Promise<Rows> {
    const form = formOf(statement, this.layout);
    if (!form) return super.run(statement, parameters, 0);
    const prepared = form(this.#db);
    const { sql, params } = prepared.getQuery();
    this.sent.push({ sql, parameters: fillPlaceholders(params, parameters) });
    return runPrepared(this.client, prepared, parameters);
  }

  /** Returns the last statement with some of its parameters replaced. */
  lastStatement(replacements: Readonly<Record<string, string>>): [sql: string, parameters: string[]] {
    const last = this.sent.at(-1);
    if (!last) throw new Error('No statement was sent');
    const all: Readonly<Record<string, string>> = { [AUDIT_ID]: randomUUID(), ...replacements };
    return [last.sql, last.parameters.map((value) => all[String(value)] ?? String(value))];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.client.end(), this.close()]);
  }
}

/** Runs a statement, prepared for the client, as a connection of Usher does. */
export async function runPrepared<Rows>(
  client: Pick<postgres.Sql, 'unsafe'>,
  prepared: ReturnType<Statement<Rows>>,
  parameters: PlaceholderValues,
): Promise<Rows> {
  if ('execute' in prepared) return prepared.execute(parameters);
  const values = prepared.encode(parameters) as never[];
  const rows = await client.unsafe(prepared.getQuery().sql, values, { prepare: true }).values();
  return prepared.decode(rows, rows.columns);
}

/** Returns `run` for statements that write to the audit log. */
export function auditedRun(database: RecordingDatabase): Run {
  const run = withAudit(database.within(0), { ...BY_USHER, action: 'test', now: new Date() });
  return (statement, parameters) => run(statement, { auditId: AUDIT_ID, ...parameters });
}
