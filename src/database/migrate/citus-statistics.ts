/**
 * Columns with personal data have no statistics: those are samples of values, which would outlive an erasure. Migrations
 * say so with `SET STATISTICS 0`, which Citus refuses for a table that it manages. There it is done after the migrations,
 * on each server by itself.
 */
import type { MigrationMeta } from 'drizzle-orm/migrator';
import type { PostgresClient } from '../sql/driver.ts';
import { isOnCitus } from './distribute.ts';

const STATEMENT = /^ALTER TABLE "(?<table>\w+)" (?:ALTER "\w+" SET STATISTICS 0(?:, )?)+;?$/;

interface Column {
  readonly table: string;
  readonly name: string;
}

/** Returns whether Citus refuses the statement of a migration. */
export async function isRefusedByCitus(client: PostgresClient, statement: string, schema: string): Promise<boolean> {
  const [column] = readColumns(statement);
  if (!column || !(await isOnCitus(client))) return false;
  const rows = await client`
    select from pg_dist_partition where logicalrelid = to_regclass(${`"${schema}"."${column.table}"`})`;
  return rows.length > 0;
}

/** Turns statistics off where the migrations could not. Does nothing the second time. The database must be on Citus. */
export async function turnStatisticsOff(
  client: PostgresClient,
  migrations: readonly MigrationMeta[],
  schema: string,
): Promise<void> {
  const columns = migrations.flatMap(({ sql }) => sql.flatMap(readColumns));
  const names = columns.map(({ table, name }) => `${table}.${name}`).join();
  const left = await client<Column[]>`
    select relname as table, attname as name
    from pg_dist_partition join pg_class on pg_class.oid = logicalrelid join pg_attribute on attrelid = logicalrelid
    where relnamespace = ${schema}::regnamespace and attstattarget is distinct from 0
      and relname || '.' || attname = any(string_to_array(${names}, ','))`;
  for (const { table, name } of left) {
    const tableName = `"${schema}"."${table}"`;
    const action = `alter "${name}" set statistics 0`;
    const [failure] = await client`
      select result from run_command_on_placements(${tableName}::regclass, ${`alter table %s ${action}`})
      where not success`;
    if (failure) throw new Error(`The statistics of ${table} cannot be turned off: ${failure.result}`);
    // Last, because it says that the shards are done.
    await client.unsafe(
      `begin; set local citus.enable_ddl_propagation = off; alter table ${tableName} ${action}; commit`,
    );
  }
}

/** Returns the columns whose statistics a statement turns off, if that is what it does. */
function readColumns(statement: string): readonly Column[] {
  const text = statement.replace(/^--.*$/gm, '').trim();
  const table = STATEMENT.exec(text)?.groups?.table;
  if (table === undefined) return [];
  return [...text.matchAll(/ALTER "(\w+)"/g)].map(([, name = '']) => ({ table, name }));
}
