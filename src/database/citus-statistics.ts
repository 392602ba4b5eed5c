/**
 * Columns with personal data have no statistics: those are samples of values, which would outlive an erasure. Migrations
 * say so with `SET STATISTICS 0`, which Citus refuses for a table that it manages. There it is done after the migrations,
 * on each server by itself.
 */

import type { MigrationMeta } from 'drizzle-orm/migrator';
import type postgres from 'postgres';

const STATEMENT = /^ALTER TABLE "(?<table>\w+)" (?<actions>(?:ALTER "\w+" SET STATISTICS 0(?:, )?)+);?$/;

interface Change {
  readonly table: string;
  /** What follows the name of the table. */
  readonly actions: string;
}

/** Returns whether Citus refuses the statement of a migration. */
export async function isRefusedByCitus(client: postgres.Sql, statement: string, schema: string): Promise<boolean> {
  const change = readChange(statement);
  return change !== undefined && (await isManaged(client, nameOf(change, schema)));
}

/** Turns statistics off where the migrations could not. Does nothing the second time. The database must be on Citus. */
export async function turnStatisticsOff(
  client: postgres.Sql,
  migrations: readonly MigrationMeta[],
  schema: string,
): Promise<void> {
  for (const change of migrations.flatMap(({ sql }) => sql).flatMap((statement) => readChange(statement) ?? [])) {
    const name = nameOf(change, schema);
    if (!(await isManaged(client, name)) || !(await hasStatistics(client, name, change))) continue;
    const command = `alter table %s ${change.actions}`;
    const [failure] = await client`
      select result from run_command_on_placements(${name}::regclass, ${command}) where not success`;
    if (failure) throw new Error(`The statistics of ${change.table} cannot be turned off: ${failure.result}`);
    // Last, because it says that the shards are done.
    await client.unsafe(
      `begin; set local citus.enable_ddl_propagation = off; alter table ${name} ${change.actions}; commit`,
    );
  }
}

function readChange(statement: string): Change | undefined {
  const { table, actions } = STATEMENT.exec(statement.replace(/^--.*$/gm, '').trim())?.groups ?? {};
  return table !== undefined && actions !== undefined ? { table, actions } : undefined;
}

function nameOf({ table }: Change, schema: string): string {
  return `"${schema}"."${table}"`;
}

async function isManaged(client: postgres.Sql, name: string): Promise<boolean> {
  const [citus] = await client`select to_regclass('pg_dist_partition') is not null as "isThere"`;
  if (!citus?.isThere) return false;
  const rows = await client`select from pg_dist_partition where logicalrelid = to_regclass(${name})`;
  return rows.length > 0;
}

async function hasStatistics(client: postgres.Sql, name: string, { actions }: Change): Promise<boolean> {
  const columns = [...actions.matchAll(/"(\w+)"/g)].map(([, column]) => column).join();
  const rows = await client`
    select from pg_attribute
    where attrelid = ${name}::regclass and attname = any(string_to_array(${columns}, ',')) and attstattarget is distinct from 0
    limit 1`;
  return rows.length > 0;
}
