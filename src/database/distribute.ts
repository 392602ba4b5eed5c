/** Turns the tables of a database on a Citus coordinator into reference and distributed tables. */
import type postgres from 'postgres';
import { JOURNAL } from './journal.ts';
import { readTarget } from './open-client.ts';
import { openSingleConnection } from './open-single-connection.ts';
import { PrimaryFinder } from './primary-finder.ts';
import { describeFailure } from './start-failure.ts';

/** Tables of which every server has a copy: they are small, or joined with rows of every application. */
export const REFERENCE_TABLES: readonly string[] = [
  'applications',
  'api_keys',
  'users',
  // A row ends the sessions of a user in every application.
  'user_cutoffs',
  // The same in one browser.
  'browser_cutoffs',
  // Looked up by issuer and subject, and by user.
  'user_identities',
];

/**
 * The distribution columns of tables whose rows belong to no application, or are read without its ID. All other tables
 * are distributed by application, so that the calls of an application read and write on one Citus worker.
 */
export const DISTRIBUTED_BY: Readonly<Record<string, string>> = {
  // The login page and CompleteLogin know only the ID of the intent.
  login_intents: 'id',
  login_codes: 'login_intent_id',
  wallet_challenges: 'login_intent_id',
  proved_identities: 'login_intent_id',
  // These rows belong to no application.
  rate_limits: 'key',
  known_origins: 'key',
  muted_addresses: 'key',
  remembered_sign_ins: 'token_digest',
  passkeys: 'credential_id',
  hourly_counts: 'name',
  expiry_marks: 'name',
};

/**
 * Without it, Citus refuses a transaction that changes several tables with foreign keys. On other databases it does
 * nothing.
 */
export const HANDLE_SHARDS_IN_TURN = "set local citus.multi_shard_modify_mode = 'sequential'";

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
  client: postgres.Sql,
  schema: string,
  onProgress?: (step: string) => void,
): Promise<readonly Distribution[]> {
  if (!(await isOnCitus(client))) throw new Error('the database is not on Citus: it has no extension citus');
  await client.unsafe(`begin; set local search_path = "${schema}"; ${HANDLE_SHARDS_IN_TURN}`);
  await grantOnWorkers(client, schema);
  const distributions = await distributeRemaining(client, schema, onProgress);
  await client.unsafe('commit');
  return distributions;
}

/** Repeats the grants of default privileges: Citus creates the schema on its workers without them. */
async function grantOnWorkers(client: postgres.Sql, schema: string): Promise<void> {
  const roles = await client`
    select grantee::regrole::text as name from pg_namespace, aclexplode(nspacl)
    where nspname = ${schema} and privilege_type = 'USAGE' and grantee not in (0, nspowner)`;
  for (const { name } of roles) await client.unsafe(`grant usage on schema "${schema}" to ${name}`);
}

/**
 * If the database is distributed, distributes the tables that a migration has added. Runs within the migration's
 * transaction.
 */
export async function distributeNewTables(client: postgres.Sql, schema: string): Promise<void> {
  if (!(await isOnCitus(client))) return;
  const [distributed] = await client`
    select from pg_dist_partition join pg_class on pg_class.oid = logicalrelid
    where relnamespace = ${schema}::regnamespace and partmethod = 'h' limit 1`;
  if (distributed) await distributeRemaining(client, schema);
}

export async function isOnCitus(client: postgres.Sql): Promise<boolean> {
  const rows = await client`select from pg_extension where extname = 'citus'`;
  return rows.length > 0;
}

async function distributeRemaining(
  client: postgres.Sql,
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
async function planDistributions(client: postgres.Sql, schema: string): Promise<readonly Distribution[]> {
  // Citus also lists local tables with foreign keys to reference tables. They are neither hashed nor replicated.
  const tables = await client`
    select relname as name from pg_class c
    where relkind in ('r', 'p') and not relispartition and relnamespace = ${schema}::regnamespace
      and relname <> ${JOURNAL} and not exists (
      select from pg_dist_partition where logicalrelid = c.oid and (partmethod = 'h' or repmodel = 't')
    ) order by relname`;
  const names: readonly string[] = tables.map(({ name }) => name);
  const references = names.filter((name) => REFERENCE_TABLES.includes(name));
  const distributed = names.filter((name) => !REFERENCE_TABLES.includes(name));
  return [
    ...references.map((table) => ({ table, column: null })),
    ...distributed.map((table) => ({ table, column: DISTRIBUTED_BY[table] ?? 'application_id' })),
  ];
}

/**
 * Replaces identity columns by numbers that are in order across servers. Each server has its own sequence, so plain
 * sequence numbers would not show which row came first. Microseconds do, as far as the servers' clocks agree. The
 * sequence makes numbers of the same microsecond differ.
 */
async function distributeTable(client: postgres.Sql, table: string, column: string): Promise<void> {
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
async function dropForeignKeys(client: postgres.Sql, tables: readonly Distribution[]): Promise<readonly string[]> {
  const names = tables.map(({ table }) => table).join();
  const keys = await client`
    select conrelid::regclass::text as table, conname as name, pg_get_constraintdef(oid) as definition
    from pg_constraint
    where contype = 'f' and conparentid = 0 and conrelid::regclass::text = any(string_to_array(${names}, ','))`;
  for (const { table, name } of keys) await client.unsafe(`alter table ${table} drop constraint "${name}"`);
  return keys.map(({ table, name, definition }) => `alter table ${table} add constraint "${name}" ${definition}`);
}
