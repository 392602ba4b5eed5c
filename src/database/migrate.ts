import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator';
import type postgres from 'postgres';
import { createIndexes, isConcurrent } from './concurrent-indexes.ts';
import { distributeNewTables, HANDLE_SHARDS_IN_TURN, isOnCitus } from './distribute.ts';
import { createJournal, hasTable, JOURNAL, selectPending } from './journal.ts';
import { describeServer, readTarget } from './open-client.ts';
import { openSingleConnection } from './open-single-connection.ts';
import { requirePreparedStatements, requireUsable } from './require-usable.ts';
import { describeFailure } from './start-failure.ts';
import { awaitCancelledVacuum, isLockConflict, TABLE_LOCK_TIMEOUT_MS } from './table-locks.ts';
import { isInUse, isOfVersion01, readTakeOver } from './take-over.ts';
import { isNetworkError, type Waiting, waitForPrimary } from './wait-for-primary.ts';

export interface MigrationOptions {
  /** Where the tables are. */
  readonly schema?: string | undefined;
  /** False only checks that nothing is pending. */
  readonly applies?: boolean;
  readonly folder?: string;
  /** How long to wait for a primary, for other processes that migrate, and for tables in use. */
  readonly timeoutMs?: number;
  readonly onWait?: Waiting['onWait'];
}

const MIGRATIONS = fileURLToPath(new URL('../../drizzle', import.meta.url));

/** The key of the advisory lock. Every version of Usher must use the same. */
const ADVISORY_LOCK = 7_580_447;

const PAUSE_MS = 200;
const TIMEOUT_MS = 5 * 60_000;

/** Every so many tries, one waits for an autovacuum to be cancelled. It makes callers wait, so the others do not. */
const PATIENT_INTERVAL = 50;
const FIRST_PATIENT = 5;

export interface MigratedDatabase {
  /** Whether it is on Citus, distributed already or not. */
  readonly isOnCitus: boolean;
}

/**
 * Brings the database's tables up to date. Replicas that start together migrate one after the other. Where nothing is
 * to be done it takes no lock and needs no right but to read.
 *
 * @throws Error of one line, without the password
 */
export async function migrateDatabase(
  url: string,
  { schema, folder = MIGRATIONS, applies = true, timeoutMs = TIMEOUT_MS, onWait }: MigrationOptions = {},
): Promise<MigratedDatabase> {
  const target = readTarget(url, schema);
  const connection = { application_name: 'usher migration' };
  const options = { prepare: false, onnotice: () => {}, connect_timeout: 10, connection };
  try {
    const primary = await waitForPrimary(target, { timeoutMs, onWait });
    await using stack = new AsyncDisposableStack();
    const client = openSingleConnection(target, options, primary);
    stack.defer(() => client.end({ timeout: 5 }));
    await requireUsable(client);
    await requirePreparedStatements(() => openSingleConnection(target, { ...options, prepare: true }, primary));
    const migrations = readMigrationFiles({ migrationsFolder: folder });
    const openOther = () => openSingleConnection(target, options, primary);
    const migration = { client, openOther, schema: target.schema, migrations };
    if (applies) await migrate(migration, { timeoutMs, onWait });
    else await requireNonePending(migration);
    return { isOnCitus: await isOnCitus(client) };
  } catch (error) {
    const servers = target.servers.map(describeServer).join(', ');
    const problem = isNetworkError(error) ? 'reached' : 'used';
    throw new Error(`The database at ${servers} cannot be ${problem}: ${describeFailure(error)}`);
  }
}

interface Migration {
  readonly client: postgres.Sql;
  /** Opens a client for what must be done outside the transaction of the first. */
  readonly openOther: () => postgres.Sql;
  readonly schema: string;
  readonly migrations: readonly MigrationMeta[];
}

/**
 * Applies one migration after the other, so that none waits for the tables of another. Tries again while another process
 * migrates, and after every conflict with the statements of other replicas.
 */
async function migrate(migration: Migration, { timeoutMs, onWait }: Waiting): Promise<void> {
  const { client, schema, migrations } = migration;
  const waitUntil = performance.now() + timeoutMs;
  let reported = '';
  let tries = 0;
  while ((await selectPending(client, schema, migrations)).length > 0) {
    const reason = await applyFirstPending(migration, ++tries % PATIENT_INTERVAL === FIRST_PATIENT);
    if (!reason) {
      tries = 0;
      continue;
    }
    if (performance.now() > waitUntil) throw new Error(`It is not migrated after ${timeoutMs / 1_000} s: ${reason}`);
    if (reason !== reported) onWait?.(reason);
    reported = reason;
    await sleep(PAUSE_MS);
  }
}

async function requireNonePending({ client, schema, migrations }: Migration): Promise<void> {
  const pending = await selectPending(client, schema, migrations);
  if (pending.length > 0) throw new Error('Some migrations are pending. Apply them with npm run migrate');
}

async function apply(step: MigrationMeta, { client, openOther, schema }: Migration): Promise<void> {
  if (isConcurrent(step)) {
    await using stack = new AsyncDisposableStack();
    const other = openOther();
    stack.defer(() => other.end({ timeout: 1 }));
    await createIndexes(other, step, schema);
  } else {
    // Foreign keys that drizzle-kit generates name `public`.
    for (const statement of step.sql) await client.unsafe(statement.replaceAll('"public".', `"${schema}".`));
    await distributeNewTables(client, schema);
  }
  await client`insert into ${client(JOURNAL)} (hash, created_at) values (${step.hash}, ${step.folderMillis})`;
}

/**
 * Returns undefined, or why it could not be done now. Everything but indexes is within one transaction, as poolers need.
 * Between its statements it has no snapshot: indexes would wait for that.
 */
async function applyFirstPending(migration: Migration, isPatient: boolean): Promise<string | undefined> {
  const { client, schema, migrations } = migration;
  await client.unsafe(
    `begin isolation level read committed; set local lock_timeout = ${TABLE_LOCK_TIMEOUT_MS};
    set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0; ${HANDLE_SHARDS_IN_TURN}`,
  );
  try {
    const [lock] = await client`select pg_try_advisory_xact_lock(${ADVISORY_LOCK}) as "isOurs"`;
    if (!lock?.isOurs) return `another process migrates the database${await describeHolder(client)}`;
    if (isPatient) await awaitCancelledVacuum(client);
    const isNew = !(await hasTable(client, schema, JOURNAL));
    const isTakenOver = isNew && (await isOfVersion01(client, schema));
    if (isTakenOver && (await isInUse(client))) return 'version 0.1 runs on the database: stop it first';
    if (isNew) await createJournal(client, schema);
    await client.unsafe(`set local search_path = "${schema}"`);
    const [first] = await selectPending(client, schema, migrations);
    if (first) await apply(isTakenOver ? { ...first, sql: await readTakeOver() } : first, migration);
    await client.unsafe('commit');
    return undefined;
  } catch (error) {
    if (!isLockConflict(error)) throw error;
    return 'a table is in use';
  } finally {
    // Does nothing after a commit.
    await client.unsafe('rollback').catch(() => {});
  }
}

async function describeHolder(client: postgres.Sql): Promise<string> {
  const [holder] = await client`
    select pid, client_addr as address from pg_locks left join pg_stat_activity using (pid)
    where locktype = 'advisory' and objid = ${ADVISORY_LOCK} and granted
      and database = (select oid from pg_database where datname = current_database())`;
  return holder ? ` (Postgres process ${holder.pid}${holder.address ? ` of ${holder.address}` : ''})` : '';
}
