/** Reads what an operator should know about a database, and changes nothing. */
import { fileURLToPath } from 'node:url';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { describeServer, openSingleConnection, readTarget } from '../connection/open-client.ts';
import { waitForPrimary } from '../primary/primary-finder.ts';
import type { PostgresClient } from '../sql/driver.ts';
import { hasTable, JOURNAL, selectPending } from './journal.ts';
import { requirePreparedStatements, requireUsable } from './require-usable.ts';

/** How long to wait for a primary. */
const TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 300_000;

const MIGRATIONS = fileURLToPath(new URL('../../../drizzle', import.meta.url));

export interface Inspection extends AsyncDisposable {
  /** The address of the server. */
  readonly place: string;
  readonly version: string;
  /** Runs the work in a transaction that can only read. One work runs after the other. */
  read<T>(work: (client: PostgresClient) => Promise<T>): Promise<T>;
}

/** @throws Error if Usher cannot use the database */
export async function openInspection(url: string, schema: string): Promise<Inspection> {
  const target = readTarget(url, schema);
  const options = {
    prepare: false,
    onnotice: () => {},
    connect_timeout: 10,
    connection: { application_name: 'usher check' },
  };
  const primary = await waitForPrimary(target, { timeoutMs: TIMEOUT_MS, onWait: undefined });
  await using stack = new AsyncDisposableStack();
  const client = openSingleConnection(target, options, primary);
  stack.defer(() => client.end({ timeout: 1 }));
  await requireUsable(client);
  await requirePreparedStatements(() => openSingleConnection(target, { ...options, prepare: true }, primary));
  const [facts] = await client`select current_setting('server_version') as version`;
  let last: Promise<unknown> = Promise.resolve();
  const run = async <T>(work: (client: PostgresClient) => Promise<T>): Promise<T> => {
    await client.unsafe(
      `begin isolation level repeatable read read only; set local search_path = "${schema}";
      set local statement_timeout = ${STATEMENT_TIMEOUT_MS}`,
    );
    try {
      return await work(client);
    } finally {
      await client.unsafe('rollback');
    }
  };
  const disposables = stack.move();
  return {
    place: describeServer(primary),
    version: String(facts?.version),
    read(work) {
      const result = last.then(() => run(work));
      last = result.catch(() => {});
      return result;
    },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}

export interface MigrationState {
  /** How many migrations this version has. */
  readonly known: number;
  readonly pending: number;
  /** Whether a later version has applied one that this version does not know. */
  readonly isNewer: boolean;
  /** When the last one that is applied was made. Undefined without any. */
  readonly last: Date | undefined;
}

export async function readMigrationState(client: PostgresClient, schema: string): Promise<MigrationState> {
  const migrations = readMigrationFiles({ migrationsFolder: MIGRATIONS });
  const pending = await selectPending(client, schema, migrations);
  const isMigrated = await hasTable(client, schema, JOURNAL);
  const [row] = isMigrated
    ? await client.unsafe(`select max(created_at)::float8 as last from "${schema}"."${JOURNAL}"`)
    : [];
  const last = row?.last ?? undefined;
  return {
    known: migrations.length,
    pending: pending.length,
    isNewer: last > Math.max(...migrations.map(({ folderMillis }) => folderMillis)),
    last: last === undefined ? undefined : new Date(last),
  };
}

/** Returns the rights that the role lacks to serve, and to migrate if it does. */
export async function findMissingRights(
  client: PostgresClient,
  schema: string,
  { migrates }: { readonly migrates: boolean },
): Promise<readonly string[]> {
  const [found] = await client`
    select has_schema_privilege(oid, 'USAGE') as "mayUse", has_schema_privilege(oid, 'CREATE') as "mayCreate"
    from pg_namespace where nspname = ${schema}`;
  if (!found) {
    const [database] = await client`
      select current_database() as name, has_database_privilege(current_database(), 'CREATE') as "mayCreate"`;
    return migrates && !database?.mayCreate ? [`CREATE on the database ${database?.name}`] : [];
  }
  const ofSchema = [!found.mayUse && 'USAGE', migrates && !found.mayCreate && 'CREATE'];
  const ofTables = await client`
    select relname as name, right_name as "right" from pg_class
    cross join unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) right_name
    where relnamespace = ${schema}::regnamespace and relkind in ('r', 'p')
      and (relname <> ${JOURNAL} or right_name = 'SELECT') and not has_table_privilege(pg_class.oid, right_name)
    order by relname, right_name`;
  return [
    ...ofSchema.flatMap((right) => (right ? [`${right} on the schema ${schema}`] : [])),
    ...ofTables.map(({ name, right }) => `${right} on ${name}`),
  ];
}
