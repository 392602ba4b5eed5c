import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator';
import { handleShardsInTurn } from '../connection/connection-settings.ts';
import { describeServer, openSingleConnection, readTarget } from '../connection/open-client.ts';
import { describeFailure } from '../connection/start-failure.ts';
import { isNetworkError, type WaitOptions, waitForPrimary } from '../primary/primary-finder.ts';
import type { PostgresClient } from '../sql/driver.ts';
import { sqlStateOf } from '../sql/errors.ts';
import type { Layout } from '../sql/statement.ts';
import { distributeNewTables, isOnCitus, isRefusedByCitus, turnStatisticsOff } from './distribute.ts';
import { createJournal, hasTable, JOURNAL, selectPending } from './journal.ts';
import { requirePreparedStatements, requireReleased, requireUsable } from './require-usable.ts';

export interface MigrationOptions {
  /** The Postgres schema of the tables. */
  readonly schema?: string | undefined;
  /** The directory of the embedded Postgres, which messages name instead of its socket. */
  readonly dataDir?: string | undefined;
  /** If false, nothing is applied: a pending migration is an error. */
  readonly applies?: boolean;
  readonly folder?: string;
  /** How long to wait for a primary, for other processes that migrate, and for tables in use. */
  readonly timeoutMs?: number;
  readonly onWait?: WaitOptions['onWait'];
  readonly onProgress?: WaitOptions['onProgress'];
}

const MIGRATIONS = fileURLToPath(new URL('../../../drizzle', import.meta.url));

/** The key of the advisory lock. Every version of Usher must use the same. */
const ADVISORY_LOCK = 7_580_447;

const PAUSE_MS = 200;
const TIMEOUT_MS = 5 * 60_000;

/**
 * One of this many tries is patient: it waits until Postgres cancels an autovacuum. Callers wait as long, so it is
 * rare.
 */
const PATIENT_INTERVAL = 50;
/** The number of the first patient try. */
const FIRST_PATIENT = 5;

export interface MigratedDatabase {
  /** `distributed` on Citus, even if the tables are not distributed yet. */
  readonly layout: Layout;
  /** How many migrations were pending. */
  readonly migrated: number;
}

/**
 * Brings the database's tables up to date. Replicas that start together migrate one after the other. If nothing is
 * pending, it takes no lock and needs only the right to read.
 *
 * @throws Error of one line, without the password
 */
export async function migrateDatabase(
  url: string,
  {
    schema,
    dataDir,
    folder = MIGRATIONS,
    applies = true,
    timeoutMs = TIMEOUT_MS,
    onWait,
    onProgress,
  }: MigrationOptions = {},
): Promise<MigratedDatabase> {
  const target = readTarget(url, schema);
  const connection = { application_name: 'usher migration' };
  const options = { prepare: false, onnotice: () => {}, connect_timeout: 10, connection };
  try {
    const primary = await waitForPrimary(target, { timeoutMs, onWait, onProgress });
    await using stack = new AsyncDisposableStack();
    const client = openSingleConnection(target, options, primary);
    stack.defer(() => client.end({ timeout: 5 }));
    await requireUsable(client);
    await requirePreparedStatements(() => openSingleConnection(target, { ...options, prepare: true }, primary));
    const migrations = readMigrationFiles({ migrationsFolder: folder });
    const openOther = () => openSingleConnection(target, options, primary);
    const migration = { client, openOther, schema: target.schema, migrations };
    const { length: migrated } = await selectPending(client, target.schema, migrations);
    if (migrated === migrations.length) await requireReleased(client, target.schema, dataDir);
    if (applies) await migrate(migration, { timeoutMs, onWait, onProgress });
    else await requireNonePending(migration);
    const onCitus = await isOnCitus(client);
    if (applies && onCitus) await turnStatisticsOff(client, migrations, target.schema);
    return { layout: onCitus ? 'distributed' : 'whole', migrated };
  } catch (error) {
    const place = dataDir ? `in ${resolve(dataDir)}` : `at ${target.servers.map(describeServer).join(', ')}`;
    const problem = isNetworkError(error) ? 'reached' : 'used';
    throw new Error(`The database ${place} cannot be ${problem}: ${describeFailure(error)}`);
  }
}

interface Migration {
  readonly client: PostgresClient;
  /** Opens a second client, for indexes: they are created outside the transaction of the first client. */
  readonly openOther: () => PostgresClient;
  readonly schema: string;
  readonly migrations: readonly MigrationMeta[];
}

/**
 * Applies each migration in its own transaction, so that none holds locks on tables while the next one waits. Tries
 * again while another process migrates, and after every lock conflict with statements of other replicas.
 */
async function migrate(migration: Migration, { timeoutMs, onWait, onProgress }: WaitOptions): Promise<void> {
  const { client, schema, migrations } = migration;
  const waitUntil = performance.now() + timeoutMs;
  let reported = '';
  let tries = 0;
  let total = 0;
  for (;;) {
    const { length: pending } = await selectPending(client, schema, migrations);
    if (pending === 0) return;
    total = Math.max(total, pending);
    onProgress?.(`Applying migrations: ${total - pending} of ${total}${reported && `, which wait: ${reported}`}`);
    const reason = await applyFirstPending(migration, ++tries % PATIENT_INTERVAL === FIRST_PATIENT);
    if (!reason) {
      reported = '';
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
    // drizzle-kit writes the schema `public` into foreign keys.
    for (const statement of step.sql) {
      if (await isRefusedByCitus(client, statement, schema)) continue;
      await client.unsafe(statement.replaceAll('"public".', `"${schema}".`));
    }
    await distributeNewTables(client, schema);
  }
  await client`insert into ${client(JOURNAL)} (hash, created_at) values (${step.hash}, ${step.folderMillis})`;
}

/**
 * Applies the first pending migration. Returns undefined, or the reason why that is not possible yet. All statements
 * but those of indexes run in one transaction, because a pooler may change the connection between transactions. The
 * isolation level makes the transaction hold no snapshot between statements: indexes would wait for the end of the
 * snapshot.
 */
async function applyFirstPending(migration: Migration, isPatient: boolean): Promise<string | undefined> {
  const { client, schema, migrations } = migration;
  await client.unsafe(
    `begin isolation level read committed; set local lock_timeout = ${TABLE_LOCK_TIMEOUT_MS};
    set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0; ${handleShardsInTurn('set local')}`,
  );
  try {
    const [lock] = await client`select pg_try_advisory_xact_lock(${ADVISORY_LOCK}) as "isOurs"`;
    if (!lock?.isOurs) return `another process migrates the database${await describeHolder(client)}`;
    if (isPatient) await awaitCancelledVacuum(client);
    if (!(await hasTable(client, schema, JOURNAL))) await createJournal(client, schema);
    await client.unsafe(`set local search_path = "${schema}"`);
    const [first] = await selectPending(client, schema, migrations);
    if (first) await apply(first, migration);
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

async function describeHolder(client: PostgresClient): Promise<string> {
  const [holder] = await client`
    select pid, client_addr as address from pg_locks left join pg_stat_activity using (pid)
    where locktype = 'advisory' and objid = ${ADVISORY_LOCK} and granted
      and database = (select oid from pg_database where datname = current_database())`;
  return holder ? ` (Postgres process ${holder.pid}${holder.address ? ` of ${holder.address}` : ''})` : '';
}

/**
 * How long a migration waits for a table. Statements of other replicas wait behind the migration, so this must be well
 * below their LOCK_TIMEOUT_MS.
 */
const TABLE_LOCK_TIMEOUT_MS = 30;

/** How long a cancelled autovacuum takes to end on a busy machine. */
const CANCEL_MS = 1_000;

/** Returns whether another connection uses a table: lock_not_available or deadlock_detected. */
function isLockConflict(error: unknown): boolean {
  return /^(55P03|40P01)$/.test(sqlStateOf(error));
}

/**
 * If a vacuum may hold a table, raises the `lock_timeout` of the transaction, so that Postgres cancels an autovacuum:
 * it does so for statements that have waited for `deadlock_timeout`. Statements of other replicas wait as long,
 * isolated.
 */
async function awaitCancelledVacuum(client: PostgresClient): Promise<void> {
  await client`
    select set_config('lock_timeout', (extract(epoch from current_setting('deadlock_timeout')::interval) * 1000
      + ${CANCEL_MS}::int)::int::text, true)
    where exists (
      select from pg_locks join pg_database on pg_database.oid = pg_locks.database
      where datname = current_database() and mode = 'ShareUpdateExclusiveLock' and granted and relation is not null
    )`;
}

/** Creates indexes on existing tables while other connections write to them. */
const CREATES_INDEX = /^\s*CREATE (?:UNIQUE )?INDEX CONCURRENTLY "(\w+)" ON (?="\w+")/;

/** Returns whether the migration creates indexes, which Postgres cannot do concurrently within a transaction block. */
function isConcurrent({ sql }: MigrationMeta): boolean {
  return sql.some((statement) => CREATES_INDEX.test(statement));
}

/**
 * Creates the indexes of a migration, each in a transaction of its own. A repeated run keeps the indexes that exist,
 * but replaces those that an interrupted run has left invalid.
 *
 * `CREATE INDEX CONCURRENTLY` waits for all older transactions. None of these may wait for the index, because
 * Postgres does not detect this deadlock. So the transaction that keeps other processes from migrating, and waits for
 * the index, must hold no snapshot and no lock on a table.
 */
async function createIndexes(client: PostgresClient, { sql }: MigrationMeta, schema: string): Promise<void> {
  await removeTimeouts(client);
  for (const statement of sql) {
    const name = CREATES_INDEX.exec(statement)?.[1];
    if (!name) throw new Error(`A migration that creates indexes CONCURRENTLY does something else, too: ${statement}`);
    const [index] = await client`
      select indisvalid as "isValid" from pg_index join pg_class on pg_class.oid = indexrelid
      where relname = ${name} and relnamespace = ${schema}::regnamespace`;
    if (index?.isValid) continue;
    if (index) await client.unsafe(`drop index concurrently if exists "${schema}"."${name}"`);
    await client.unsafe(statement.replace(CREATES_INDEX, `$&"${schema}".`));
  }
}

/**
 * Removes the timeouts, but not behind a pooler: the setting would stay on a connection that other clients use, and
 * `set local` needs a transaction block, which CONCURRENTLY does not allow.
 */
async function removeTimeouts(client: PostgresClient): Promise<void> {
  const rows = await client`select pg_backend_pid() as pid`;
  const isPooled = rows[0]?.pid !== rows.state?.pid;
  if (!isPooled) await client.unsafe('set statement_timeout = 0; set lock_timeout = 0');
}
