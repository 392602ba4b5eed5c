/** Creates indexes on existing tables while other connections write to them. */
import type { MigrationMeta } from 'drizzle-orm/migrator';
import type { PostgresClient } from '../sql/driver.ts';

const CREATES_INDEX = /^\s*CREATE (?:UNIQUE )?INDEX CONCURRENTLY "(\w+)" ON (?="\w+")/;

/** Returns whether the migration creates indexes, which Postgres cannot do concurrently within a transaction block. */
export function isConcurrent({ sql }: MigrationMeta): boolean {
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
export async function createIndexes(client: PostgresClient, { sql }: MigrationMeta, schema: string): Promise<void> {
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
