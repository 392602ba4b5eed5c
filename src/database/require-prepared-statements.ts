import type postgres from 'postgres';

/**
 * A pooler may run each transaction on another connection to Postgres. It must then know the prepared statements of its
 * clients, and it gives them names of its own.
 *
 * @throws Error that says what is needed
 */
export async function requirePreparedStatements(open: () => postgres.Sql): Promise<void> {
  const client = open();
  const other = open();
  try {
    const before = await findStatement(client);
    if (!before.isPooled) return;
    // It takes the connection to Postgres that has just become free.
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

/** Returns the name that the statement itself has on the connection to Postgres. */
async function findStatement(client: postgres.Sql): Promise<{ isPooled: boolean; pid: number; name: string }> {
  const rows = await client`
    select pg_backend_pid() as pid, name from pg_prepared_statements
    where statement like '%select pg_backend_pid() as pid, name%' order by prepare_time desc limit 1`;
  const [row] = rows;
  return { isPooled: row?.pid !== rows.state?.pid, pid: row?.pid, name: row?.name };
}
