import type postgres from 'postgres';
import { inject } from 'vitest';
import { copyOf, createDatabaseOn, openDatabase, type TestDatabase } from '../../src/testing/clone-database.ts';
import { onServer } from '../../src/testing/on-server.ts';
import { TEMPLATE } from '../../src/testing/ready-directory.ts';

export { openDatabase, type TestDatabase };

/** How the tables of test databases lie, for tests that open a `Database` of their own. */
export const LAYOUT = process.env.CITUS_URL ? 'distributed' : 'whole';

/** Creates a migrated, empty database. Disposal drops it. */
export function cloneDatabase(): Promise<TestDatabase> {
  return createDatabaseOn([inject('postgresUrl'), ...inject('workerUrls')], copyOf(TEMPLATE));
}

/** Creates a database with options of `create database`. Disposal drops it. */
export function createDatabase(options: string): Promise<TestDatabase> {
  return createDatabaseOn([inject('postgresUrl')], options);
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
