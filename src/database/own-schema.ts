/** The schema of Usher's tables, and how they come into it from `public`, where earlier versions had them. */
import type { MigrationMeta } from 'drizzle-orm/migrator';
import type postgres from 'postgres';

/** The table that tells which migrations have been applied. Drizzle's own migrator has one of that name. */
export const JOURNAL = '__drizzle_migrations';

/** Returns its name with that of its schema. */
export function journalIn(schema: string): string {
  return `"${schema}"."${JOURNAL}"`;
}

/** Where earlier versions had the journal, as any application has it that uses Drizzle. */
const FORMER_SCHEMA = 'drizzle';

/** Creates the schema with the journal, or moves the tables and journal of an earlier version into it. */
export async function createOwnSchema(
  client: postgres.Sql,
  schema: string,
  migrations: readonly MigrationMeta[],
): Promise<void> {
  const [known] = await client`select from pg_namespace where nspname = ${schema}`;
  if (!known) await client.unsafe(`create schema "${schema}"`);
  if (await areOurTablesInPublic(client, migrations)) {
    const [row] = await client.unsafe(`select max(created_at)::float8 as last from ${journalIn(FORMER_SCHEMA)}`);
    const applied = migrations.filter(({ folderMillis }) => folderMillis <= row?.last);
    if (schema !== 'public') for (const table of tablesOf(applied)) await move(client, table, 'public', schema);
    await move(client, JOURNAL, FORMER_SCHEMA, schema);
  } else {
    await client.unsafe(
      `create table ${journalIn(schema)} (id serial primary key, hash text not null, created_at bigint)`,
    );
  }
}

/** Reads catalogs, which unlike `to_regclass` show what others have just committed. */
export async function hasTable(client: postgres.Sql, schema: string, table: string): Promise<boolean> {
  const rows = await client`select from pg_tables where schemaname = ${schema} and tablename = ${table}`;
  return rows.length > 0;
}

/** A foreign journal holds other hashes. It is not even read where there is no table of ours. */
async function areOurTablesInPublic(client: postgres.Sql, [first]: readonly MigrationMeta[]): Promise<boolean> {
  const isPossible =
    (await hasTable(client, FORMER_SCHEMA, JOURNAL)) && (await hasTable(client, 'public', 'login_intents'));
  if (!isPossible || !first) return false;
  const rows = await client.unsafe(`select from ${journalIn(FORMER_SCHEMA)} where hash = $1`, [first.hash]);
  return rows.length > 0;
}

function tablesOf(migrations: readonly MigrationMeta[]): string[] {
  const statements = migrations.flatMap(({ sql }) => sql);
  return statements.flatMap((statement) => /^CREATE TABLE "(\w+)"/m.exec(statement)?.[1] ?? []);
}

/** Leaves a view, through which replicas of earlier versions read and write the table. */
async function move(client: postgres.Sql, table: string, from: string, to: string): Promise<void> {
  await client.unsafe(`
    alter table "${from}"."${table}" set schema "${to}";
    create view "${from}"."${table}" as select * from "${to}"."${table}"`);
}
