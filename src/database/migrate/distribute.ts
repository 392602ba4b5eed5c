/** Turns the tables of a database on a Citus coordinator into reference and distributed tables. */
import { getTableName } from 'drizzle-orm';
import type { MigrationMeta } from 'drizzle-orm/migrator';
import { handleShardsInTurn } from '../connection/connection-settings.ts';
import { openSingleConnection, readTarget } from '../connection/open-client.ts';
import { describeFailure } from '../connection/start-failure.ts';
import { PrimaryFinder } from '../primary/primary-finder.ts';
import { TABLES } from '../schema/tables.ts';
import type { PostgresClient } from '../sql/driver.ts';
import { JOURNAL } from './journal.ts';

export interface Distribution {
  readonly table: string;
  /** Null for a reference table. */
  readonly column: string | null;
}

/**
 * Distributes every table that is not distributed yet, in one transaction, and returns these tables. It locks the
 * tables while it copies their rows, so nobody else can read or write them.
 *
 * @throws Error of one line
 */
export async function distributeTables(
  url: string,
  schema?: string,
  onProgress?: (step: string) => void,
): Promise<readonly Distribution[]> {
  const target = readTarget(url, schema);
  const options = { prepare: false, fetch_types: false, onnotice: () => {} };
  try {
    using finder = new PrimaryFinder(target);
    const primary = await finder.search();
    const connection = { application_name: 'usher distribute' };
    await using stack = new AsyncDisposableStack();
    const client = openSingleConnection(target, { ...options, connection }, primary);
    stack.defer(() => client.end({ timeout: 5 }));
    return await distribute(client, target.schema, onProgress);
  } catch (error) {
    throw new Error(`The tables cannot be distributed: ${describeFailure(error)}`);
  }
}

async function distribute(
  client: PostgresClient,
  schema: string,
  onProgress?: (step: string) => void,
): Promise<readonly Distribution[]> {
  if (!(await isOnCitus(client))) throw new Error('the database is not on Citus: it has no extension citus');
  await client.unsafe(`begin; set local search_path = "${schema}"; ${handleShardsInTurn('set local')}`);
  await grantOnWorkers(client, schema);
  const distributions = await distributeRemaining(client, schema, onProgress);
  await client.unsafe('commit');
  return distributions;
}

/** Repeats the grants of default privileges: Citus creates the schema on its workers without them. */
async function grantOnWorkers(client: PostgresClient, schema: string): Promise<void> {
  const roles = await client`
    select grantee::regrole::text as name from pg_namespace, aclexplode(nspacl)
    where nspname = ${schema} and privilege_type = 'USAGE' and grantee not in (0, nspowner)`;
  for (const { name } of roles) await client.unsafe(`grant usage on schema "${schema}" to ${name}`);
}

/**
 * If the database is distributed, distributes the tables that a migration has added. Runs within the migration's
 * transaction.
 */
export async function distributeNewTables(client: PostgresClient, schema: string): Promise<void> {
  if (!(await isOnCitus(client))) return;
  const [distributed] = await client`
    select from pg_dist_partition join pg_class on pg_class.oid = logicalrelid
    where relnamespace = ${schema}::regnamespace and partmethod = 'h' limit 1`;
  if (distributed) await distributeRemaining(client, schema);
}

export async function isOnCitus(client: PostgresClient): Promise<boolean> {
  const rows = await client`select from pg_extension where extname = 'citus'`;
  return rows.length > 0;
}

async function distributeRemaining(
  client: PostgresClient,
  schema: string,
  onProgress?: (step: string) => void,
): Promise<readonly Distribution[]> {
  const distributions = await planDistributions(client, schema);
  const foreignKeys = await dropForeignKeys(client, distributions);
  for (const [done, { table, column }] of distributions.entries()) {
    onProgress?.(`Distributing tables: ${done} of ${distributions.length}, now ${table}`);
    if (column === null) await client`select create_reference_table(${table})`;
    else await distributeTable(client, table, column);
  }
  for (const statement of foreignKeys) await client.unsafe(statement);
  return distributions;
}

/** Lists the tables that are not distributed yet. Reference tables come first, because others refer to them. */
async function planDistributions(client: PostgresClient, schema: string): Promise<readonly Distribution[]> {
  // Citus also lists local tables with foreign keys to reference tables. They are neither hashed nor replicated.
  const tables = await client`
    select relname as name from pg_class c
    where relkind in ('r', 'p') and not relispartition and relnamespace = ${schema}::regnamespace
      and relname <> ${JOURNAL} and not exists (
      select from pg_dist_partition where logicalrelid = c.oid and (partmethod = 'h' or repmodel = 't')
    ) order by relname`;
  const names: readonly string[] = tables.map(({ name }) => name);
  const planned = names.map((table) => ({ table, column: columnOf(table) }));
  return [...planned.filter(({ column }) => column === null), ...planned.filter(({ column }) => column !== null)];
}

/** Returns the distribution column, also of a table that a later migration drops, or null for a reference table. */
function columnOf(name: string): string | null {
  const facts = TABLES.find(({ table }) => getTableName(table) === name);
  if (facts?.distributedBy === null) return null;
  return facts?.distributedBy.name ?? 'application_id';
}

/**
 * Replaces identity columns by numbers that are in order across servers. Each server has its own sequence, so plain
 * sequence numbers would not show which row came first. Microseconds do, as far as the servers' clocks agree. The
 * sequence makes numbers of the same microsecond differ.
 */
async function distributeTable(client: PostgresClient, table: string, column: string): Promise<void> {
  const identities = await client`
    select attname as name from pg_attribute where attrelid = ${table}::regclass and attidentity <> ''`;
  for (const { name } of identities) {
    await client.unsafe(`
      alter table ${table} alter ${name} drop identity;
      create sequence ${table}_${name}_order;
      alter table ${table} alter ${name} set default
        (extract(epoch from clock_timestamp()) * 1000000)::bigint * 64 + nextval('${table}_${name}_order') % 64`);
  }
  // Citus colocates tables whose distribution columns have the same type: equal values are on the same worker.
  await client`select create_distributed_table(${table}, ${column})`;
  // The identity column needed no grant, so the service may run as a role without one.
  for (const { name } of identities) await client.unsafe(`grant usage on sequence ${table}_${name}_order to public`);
}

/**
 * Drops foreign keys, because Citus distributes no table that others refer to. Returns the statements that restore
 * them.
 */
async function dropForeignKeys(client: PostgresClient, tables: readonly Distribution[]): Promise<readonly string[]> {
  const names = tables.map(({ table }) => table).join();
  const keys = await client`
    select conrelid::regclass::text as table, conname as name, pg_get_constraintdef(oid) as definition
    from pg_constraint
    where contype = 'f' and conparentid = 0 and conrelid::regclass::text = any(string_to_array(${names}, ','))`;
  for (const { table, name } of keys) await client.unsafe(`alter table ${table} drop constraint "${name}"`);
  return keys.map(({ table, name, definition }) => `alter table ${table} add constraint "${name}" ${definition}`);
}

/**
 * Columns with personal data have no statistics: those are samples of values, which would outlive an erasure. Migrations
 * say so with `SET STATISTICS 0`, which Citus refuses for a table that it manages. There it is done after the migrations,
 * on each server by itself.
 */
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
