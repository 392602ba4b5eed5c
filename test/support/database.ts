import { randomBytes } from 'node:crypto';
import type postgres from 'postgres';
import { inject } from 'vitest';
import { DEFAULT_SCHEMA } from '../../src/config/database-url.ts';
import { openClient } from '../../src/database/connection/open-client.ts';
import { onServer, withDatabase } from './on-server.ts';
import { TEMPLATE } from './ready-directory.ts';

/** How the tables of test databases lie, for tests that open a `Database` of their own. */
export const LAYOUT = process.env.CITUS_URL ? 'distributed' : 'whole';

export interface TestDatabase extends AsyncDisposable {
  readonly url: string;
  /** A client of its own, to read and change the rows without the service. */
  readonly sql: postgres.Sql;
}

/** Creates a migrated, empty database. Disposal drops it. */
export function cloneDatabase(): Promise<TestDatabase> {
  // Cheaper than the default, which logs every page of the copy.
  return createDatabase(`template ${TEMPLATE} strategy file_copy`, [inject('postgresUrl'), ...inject('workerUrls')]);
}

/** Creates a database with options of `create database`, on every server. Disposal drops it. */
export async function createDatabase(options: string, servers = [inject('postgresUrl')]): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  // The workers of Citus come first: their coordinator looks for its database on them.
  const runOnAll = async (statement: string) => {
    for (const server of servers.toReversed()) await onServer(server, (sql) => sql.unsafe(statement));
  };
  await runOnAll(`create database ${name} ${options}`);
  const database = openDatabase(withDatabase(inject('postgresUrl'), name));
  return {
    ...database,
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]();
      await runOnAll(`drop database ${name} with (force)`);
    },
  };
}

/** Returns a database that exists, of the first server where the URL names several. Disposal does not drop it. */
export function openDatabase(url: string): TestDatabase {
  const sql = openClient(url, { max: 2, onnotice: () => {}, connection: { search_path: DEFAULT_SCHEMA } });
  return { url, sql, [Symbol.asyncDispose]: () => sql.end() };
}

/** Counts the connections that services have open to the database. */
export async function countConnections({ sql }: Pick<TestDatabase, 'sql'>): Promise<number> {
  const rows = await sql`
    select from pg_stat_activity where datname = current_database() and application_name like 'usher %'`;
  return rows.length;
}

/** Runs statements on the server's default database. */
export async function withServer<Result>(run: (server: postgres.Sql) => Promise<Result>): Promise<Result> {
  return onServer(inject('postgresUrl'), run);
}

/** Returns the tables of the schemas with their columns. */
export async function describeTables({ sql }: TestDatabase, schemas: readonly string[]) {
  return sql`
    select table_schema as schema, table_name as name, string_agg(column_name, ' ' order by ordinal_position) as columns
    from information_schema.tables join information_schema.columns using (table_schema, table_name)
    where table_type = 'BASE TABLE' and table_schema = any(${schemas as string[]}) group by 1, 2 order by 1, 2`;
}
