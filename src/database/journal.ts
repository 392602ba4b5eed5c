/** The table of the migrations that have been applied. */
import type { MigrationMeta } from 'drizzle-orm/migrator';
import type postgres from 'postgres';

/** Not the name that Drizzle's own migrator has, which other applications use and version 0.1 used. */
export const JOURNAL = 'usher_migrations';

/** Creates the journal, and its schema where that is missing. */
export async function createJournal(client: postgres.Sql, schema: string): Promise<void> {
  const [known] = await client`select from pg_namespace where nspname = ${schema}`;
  if (!known) await client.unsafe(`create schema "${schema}"`);
  await client`
    create table ${client(schema)}.${client(JOURNAL)} (id serial primary key, hash text not null, created_at bigint)`;
}

/** Reads catalogs, which unlike `to_regclass` show what others have just committed. */
export async function hasTable(client: postgres.Sql, schema: string, table: string): Promise<boolean> {
  const rows = await client`select from pg_tables where schemaname = ${schema} and tablename = ${table}`;
  return rows.length > 0;
}

/** Returns the migrations that have not been applied. */
export async function selectPending(
  client: postgres.Sql,
  schema: string,
  migrations: readonly MigrationMeta[],
): Promise<readonly MigrationMeta[]> {
  if (!(await hasTable(client, schema, JOURNAL))) return migrations;
  // Not with the extended protocol: within a transaction its portal would keep the snapshot, for which indexes wait.
  const [row] = await client.unsafe(`select max(created_at)::float8 as last from "${schema}"."${JOURNAL}"`);
  return migrations.filter(({ folderMillis }) => folderMillis > (row?.last ?? -1));
}
