/** A Citus cluster that is there already: the tests make databases of their own on each of its servers. */
import type postgres from 'postgres';
import { distributeTables } from '../../src/database/migrate/distribute.ts';
import { migrateDatabase } from '../../src/database/migrate/migrate.ts';
import { onServer, withDatabase } from '../../src/testing/on-server.ts';
import { runAsPostgres } from './debian-postgres.ts';

interface Node {
  readonly nodename: string;
  readonly nodeport: number;
  readonly groupid: number;
}

/** Makes a template with distributed tables on every server of the cluster. `close` drops it. */
export async function prepareCitus(
  url: string,
  template: string,
): Promise<{ workerUrls: readonly string[]; close(): Promise<void> }> {
  const { workers } = await readNodes(url);
  const workerUrls = workers.map((worker) => urlOfNode(url, worker));
  const servers = [url, ...workerUrls];
  const dropAll = async () => {
    for (const server of servers)
      await onServer(server, (sql) => sql.unsafe(`drop database if exists ${template} with (force)`));
  };
  await dropAll();
  for (const server of servers) await onServer(server, (sql) => sql.unsafe(`create database ${template}`));
  await connectServers(url, template);
  const templateUrl = withDatabase(url, template);
  await migrateDatabase(templateUrl);
  await distributeTables(templateUrl);
  // A database that somebody uses, such as a daemon of Citus, cannot be cloned.
  for (const server of servers) {
    await onServer(server, async (sql) => {
      await sql.unsafe(`alter database ${template} allow_connections false`);
      await sql`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = ${template}`;
    });
  }
  return { workerUrls, close: dropAll };
}

/** Makes a cluster of the databases of one name, which every server of the cluster at the URL has. */
export async function connectServers(url: string, database: string): Promise<void> {
  const { coordinator, workers } = await readNodes(url);
  for (const server of [url, ...workers.map((worker) => urlOfNode(url, worker))])
    await onServer(withDatabase(server, database), (sql) => sql`create extension citus`);
  await onServer(withDatabase(url, database), async (sql) => {
    await sql`select citus_set_coordinator_host(${coordinator.nodename}, ${coordinator.nodeport})`;
    for (const { nodename, nodeport } of workers) await sql`select citus_add_node(${nodename}, ${nodeport})`;
  });
}

/** Restarts a server of the cluster. `immediate` is what a crash does. */
export async function restartWorker(url: string, mode: 'fast' | 'immediate'): Promise<void> {
  const directory = await onServer(url, async (sql) => (await sql`show data_directory`)[0]?.data_directory);
  await runAsPostgres('pg_ctl', ['restart', '-D', directory, '-m', mode, '-w', '-l', `${directory}.log`]);
}

/** Returns how many transactions the workers still have prepared when Citus has recovered. */
export async function countPrepared(database: { url: string; sql: postgres.Sql }, workers: readonly string[]) {
  // Its own connections may be lost, too.
  await database.sql`select recover_prepared_transactions()`.catch(() => {});
  const { pathname } = new URL(database.url);
  const counts = workers.map((url) =>
    onServer(
      withDatabase(url, pathname),
      (sql) => sql`select from pg_prepared_xacts where database = current_database()`,
    ),
  );
  return (await Promise.all(counts)).reduce((sum, rows) => sum + rows.length, 0);
}

async function readNodes(url: string): Promise<{ coordinator: Node; workers: readonly Node[] }> {
  const nodes = await onServer(url, (sql) => sql<Node[]>`select nodename, nodeport, groupid from pg_dist_node`);
  const coordinator = nodes.find(({ groupid }) => groupid === 0);
  const workers = nodes.filter(({ groupid }) => groupid !== 0);
  if (!coordinator || workers.length === 0) throw new Error('CITUS_URL names no coordinator with workers');
  return { coordinator, workers };
}

function urlOfNode(url: string, { nodename, nodeport }: Node): string {
  return Object.assign(new URL(url), { host: `${nodename}:${nodeport}` }).href;
}
