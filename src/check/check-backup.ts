/** `node src/start.js check-backup <file>`: proves that a dump can be restored, and says what would be lost. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getTableName } from 'drizzle-orm';
import { readSecrets } from '../config/secrets.ts';
import { openClient } from '../database/connection/open-client.ts';
import { describeFailure } from '../database/connection/start-failure.ts';
import { findRunningPostgres, startEmbeddedPostgres } from '../database/embedded/embedded-postgres.ts';
import { openInspection, readMigrationState } from '../database/migrate/inspect-database.ts';
import { TABLES } from '../database/schema/tables.ts';
import type { PostgresClient } from '../database/sql/driver.ts';
import { RowCipher } from '../domain/crypto/aes-gcm.ts';
import { describeUnreadable, readSecretCounts } from '../jobs/read-secret-counts.ts';
import type { FullConfig } from '../modules/modules.ts';
import { restoreDump } from './restore-dump.ts';

/** How many secrets of each table are decrypted. */
const SAMPLE = 1_000;
/** How many actions of the audit log are named. */
const NAMED_ACTIONS = 8;
/** It may change nothing but its own database: a dump is a program. */
const ROLE = 'usher_backup';

/**
 * Restores the dump into a Postgres of its own, which it removes. Returns what it has found.
 *
 * @throws Error of one line
 */
export async function checkBackup(config: FullConfig, file: string, signal: AbortSignal): Promise<string> {
  await using stack = new AsyncDisposableStack();
  const { encryptionKeys } = await readSecrets(config.secrets, config.dataDir);
  if (!encryptionKeys) throw new Error('ENCRYPTION_KEY_FILE is required, to decrypt what the dump has');
  const startedAt = performance.now();
  const url = await openEmptyDatabase(stack);
  const stopped = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => stopped.reject(new Error('stopped')));
  const report = readDump(url, { file, schema: config.databaseSchema, cipher: new RowCipher(encryptionKeys) });
  // Statements fail when the database is closed.
  report.catch(() => {});
  const { lines, newest } = await Promise.race([report, stopped.promise]).catch((error) => {
    throw new Error(`${file} ${describeFailure(error)}`);
  });
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  const all = [`${file} can be restored, in ${seconds} s`, ...lines, await describeLoss(config, newest)];
  return `${all.join('\n')}\n`;
}

async function openEmptyDatabase(stack: AsyncDisposableStack): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'usher-backup-'));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const postgres = await startEmbeddedPostgres(directory, { durable: false });
  stack.defer(() => postgres.close());
  const admin = openClient(postgres.url, { max: 1 });
  await admin.unsafe(`create role ${ROLE} login`);
  await admin.unsafe(`create database ${ROLE} owner ${ROLE} encoding 'UTF8' template template0`);
  await admin.end();
  const url = Object.assign(new URL(postgres.url), { username: ROLE, pathname: ROLE }).href;
  return url;
}

interface Dump {
  readonly file: string;
  readonly schema: string;
  readonly cipher: RowCipher;
}

interface AuditRow {
  readonly id: string;
  readonly at: Date;
  readonly action: string;
}

/** @throws Error whose message continues the name of the file */
async function readDump(url: string, { file, schema, cipher }: Dump) {
  await restoreDump(url, file).catch((error) => {
    throw isOfPostgres(error) ? new Error(`cannot be restored: ${error.message}`) : error;
  });
  await using inspection = await openInspection(url, schema);
  return await inspection.read((client) => describeDump(client, { schema, cipher }));
}

async function describeDump(client: PostgresClient, { schema, cipher }: Omit<Dump, 'file'>) {
  const state = await readMigrationState(client, schema);
  if (!state.last) throw new Error(`has no rows of Usher in the schema ${schema}`);
  const last = toDay(state.last);
  if (state.isNewer) throw new Error(`is of a later version of Usher, with a migration of ${last}`);
  const counts = await countRows(client, schema);
  const missing = TABLES.map(({ table }) => getTableName(table)).filter((name) => !counts.has(name));
  if (state.pending === 0 && missing.length > 0) throw new Error(`lacks the tables ${missing.join(', ')}`);
  const secrets = await readSecretCounts(client, cipher, schema, SAMPLE);
  const unreadable = describeUnreadable(secrets);
  if (unreadable !== undefined) throw new Error(`cannot be used with this ENCRYPTION_KEY_FILE: ${unreadable}`);
  const [newest] = await client<AuditRow[]>`
    select id, occurred_at as at, action from ${client(schema)}.audit_events order by occurred_at desc, id desc limit 1`;
  const filled = [...counts].filter(([, count]) => count > 0);
  const lines = [
    `migration: ${last}${state.pending === 0 ? '' : `, and a start applies ${state.pending} more`}`,
    `rows: ${filled.map(([name, count]) => `${count} ${name}`).join(', ')}`,
    `secrets that were decrypted: ${secrets.map(({ table, total }) => `${total} in ${table}`).join(', ')}`,
    `newest audit event: ${newest ? `${newest.at.toISOString()} ${newest.action}` : 'none'}`,
  ];
  return { lines, newest };
}

function isOfPostgres(error: unknown): error is Error {
  return error instanceof Error && 'severity' in error;
}

async function countRows(client: PostgresClient, schema: string): Promise<ReadonlyMap<string, number>> {
  const tables = await client`select tablename as name from pg_tables where schemaname = ${schema} order by 1`;
  const counts = new Map<string, number>();
  for (const { name } of tables) {
    const [row] = await client`select count(*)::float8 as count from ${client(schema)}.${client(name)}`;
    counts.set(name, row?.count);
  }
  return counts;
}

/** Compares the dump with the database of the service, if that can be read. */
async function describeLoss(config: FullConfig, newest: AuditRow | undefined): Promise<string> {
  const since = newest ? `since ${newest.at.toISOString()}` : 'that there is';
  const lost = 'lost if it were restored now';
  const url = config.databaseUrl ?? (await findRunningPostgres(config.dataDir));
  if (url === undefined) return `${lost}: everything ${since}. The database does not run, so nothing was compared`;
  try {
    await using live = await openInspection(url, config.databaseSchema);
    return await live.read(async (sql) => {
      const [known] = newest ? await sql`select from audit_events where id = ${newest.id}` : [true];
      if (!known)
        return `${lost}: all that DATABASE_URL has. The dump is of another database, or older than its audit log`;
      const after = newest?.at ?? new Date(0);
      const rows = await sql`
        select action, count(*)::float8 as count from audit_events where occurred_at > ${after}
        group by action order by 2 desc, 1`;
      const total = rows.reduce((sum, { count }) => sum + count, 0);
      const named = rows.slice(0, NAMED_ACTIONS).map(({ action, count }) => `${count} ${action}`);
      const others = rows.length > NAMED_ACTIONS ? [`${rows.length - NAMED_ACTIONS} other actions`] : [];
      return `${lost}: ${total} changes ${since}${total === 0 ? '' : `: ${[...named, ...others].join(', ')}`}`;
    });
  } catch (error) {
    return `${lost}: everything ${since}. The database cannot be read: ${describeFailure(error)}`;
  }
}

function toDay(instant: Date): string {
  return instant.toISOString().slice(0, 10);
}
