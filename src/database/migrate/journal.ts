/** The journal: a table that lists the migrations that have been applied. */
import type { MigrationMeta } from 'drizzle-orm/migrator';
import type { PostgresClient } from '../sql/driver.ts';

/** Differs from the table of Drizzle's own migrator, which other applications use. */
export const JOURNAL = 'usher_migrations';

/** Creates the journal, and its schema if that is missing. */
export async function createJournal(client: PostgresClient, schema: string): Promise<void> {
  const [known] = await client`select from pg_namespace where nspname = ${schema}`;
  if (!known) await client.unsafe(`create schema "${schema}"`);
  await client`
    create table ${client(schema)}.${client(JOURNAL)} (id serial primary key, hash text not null, created_at bigint)`;
}

/** Reads the catalog. Unlike `to_regclass`, it shows a table that another process has just committed. */
export async function hasTable(client: PostgresClient, schema: string, table: string): Promise<boolean> {
  const rows = await client`select from pg_tables where schemaname = ${schema} and tablename = ${table}`;
  return rows.length > 0;
}

/** Returns the migrations that have not been applied. */
export async function selectPending(
  client: PostgresClient,
  schema: string,
  migrations: readonly MigrationMeta[],
): Promise<readonly MigrationMeta[]> {
  if (!(await hasTable(client, schema, JOURNAL))) return migrations;
  // The simple protocol: within a transaction, the extended protocol's portal would hold a snapshot, and
  // `CREATE INDEX CONCURRENTLY` waits for the end of snapshots.
  const [row] = await client.unsafe(`select max(created_at)::float8 as last from "${schema}"."${JOURNAL}"`);
  return migrations.filter(({ folderMillis }) => folderMillis > (row?.last ?? -1));
}
