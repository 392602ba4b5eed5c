/** Checks the database at a start. */
import type { PostgresClient } from '../sql/driver.ts';

const MIN_VERSION = 14;

/** @throws Error with advice if Usher cannot use the database because of its version or encoding */
export async function requireUsable(client: PostgresClient): Promise<void> {
  const [facts] = await client`
    select current_setting('server_version') as version, current_setting('server_encoding') as encoding`;
  const { version, encoding } = facts ?? {};
  if (Number.parseInt(version, 10) < MIN_VERSION)
    throw new Error(`it is Postgres ${version}, and Usher needs ${MIN_VERSION}`);
  if (encoding !== 'UTF8') {
    throw new Error(
      `its encoding is ${encoding}, and Usher needs UTF8. ` +
        `Create another one: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`,
    );
  }
}

/**
 * Call it before the first migration.
 *
 * @throws Error with advice if the database has tables from before 1.0.0, which had another journal
 */
export async function requireReleased(client: PostgresClient, schema: string, dataDir?: string): Promise<void> {
  const [former] = await client`
    select current_database() as name from information_schema.columns
    where table_name = 'login_intents' and column_name = 'redirect_uri' and table_schema in (${schema}, 'public')
      and exists (
        select from pg_tables where tablename = '__drizzle_migrations' and schemaname in (${schema}, 'drizzle'))`;
  if (!former) return;
  throw new Error(
    `${dataDir ? 'Its tables' : `The tables in ${former.name}`} are from before 1.0.0. There was no release before ` +
      '1.0.0, so no version carries them over. They were left untouched. To start beside them, ' +
      `set ${dataDir ? 'DATA_DIR to another directory' : 'DATABASE_URL to another database'}`,
  );
}

/**
 * A pooler may run each transaction on another connection to Postgres. Then it must prepare the statements of its
 * clients on each of these connections, which it does under names of its own.
 *
 * @throws Error with advice if the pooler does not
 */
export async function requirePreparedStatements(open: () => PostgresClient): Promise<void> {
  const client = open();
  const other = open();
  try {
    const before = await findStatement(client);
    if (!before.isPooled) return;
    // Its open transaction occupies the connection to Postgres that has just become free.
    await other.unsafe('begin; select 1');
    const after = await findStatement(client);
    if (after.pid !== before.pid && after.name !== before.name) {
      throw new Error(
        'the pooler loses prepared statements. Usher needs pgbouncer 1.21 or later with max_prepared_statements, ' +
          'or a pool_mode of session',
      );
    }
  } finally {
    await Promise.all([client.end({ timeout: 1 }), other.end({ timeout: 1 })]);
  }
}

/**
 * Returns the connection to Postgres that runs this statement, and the name under which the statement is prepared
 * there.
 */
async function findStatement(client: PostgresClient): Promise<{ isPooled: boolean; pid: number; name: string }> {
  const rows = await client`
    select pg_backend_pid() as pid, name from pg_prepared_statements
    where statement like '%select pg_backend_pid() as pid, name%' order by prepare_time desc limit 1`;
  const [row] = rows;
  return { isPooled: row?.pid !== rows.state?.pid, pid: row?.pid, name: row?.name };
}
