import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator';
import { handleShardsInTurn } from '../connection/connection-settings.ts';
import { describeServer, readTarget } from '../connection/open-client.ts';
import { openSingleConnection } from '../connection/open-single-connection.ts';
import { describeFailure } from '../connection/start-failure.ts';
import { isNetworkError, type WaitOptions, waitForPrimary } from '../primary/wait-for-primary.ts';
import type { PostgresClient } from '../sql/driver.ts';
import type { Layout } from '../sql/statement.ts';
import { isRefusedByCitus, turnStatisticsOff } from './citus-statistics.ts';
import { createIndexes, isConcurrent } from './concurrent-indexes.ts';
import { distributeNewTables, isOnCitus } from './distribute.ts';
import { createJournal, hasTable, JOURNAL, selectPending } from './journal.ts';
import { requirePreparedStatements, requireReleased, requireUsable } from './require-usable.ts';
import { awaitCancelledVacuum, isLockConflict, TABLE_LOCK_TIMEOUT_MS } from './table-locks.ts';

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
