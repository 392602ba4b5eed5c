import { totalmem } from 'node:os';
import type postgres from 'postgres';
import { startEmbeddedPostgres } from '../../../src/database/embedded-postgres.ts';
import { migrateDatabase } from '../../../src/database/migrate.ts';
import { openClient } from '../../../src/database/open-client.ts';
import type { Fixtures } from '../fixtures.ts';
import type { Progress } from '../run-bench.ts';
import { seedDatabase } from '../seed-database.ts';
import { FRESH_ROWS } from './seed-bulk.ts';

/** Functions that insert more than the common rows, by the name of the database. */
export type Fillings = Readonly<Record<string, (url: string) => Promise<void>>>;

/** Starts a Postgres with these databases and returns their URLs by name. It is durable once they are filled. */
export async function seedDatabases(
  stack: AsyncDisposableStack,
  {
    directory,
    fixtures,
    progress,
    fresh = FRESH_ROWS,
  }: { directory: string; fixtures: Fixtures; progress: Progress; fresh?: number },
  fillings: Fillings,
): Promise<ReadonlyMap<string, string>> {
  await using filling = new AsyncDisposableStack();
  const filled = await startEmbeddedPostgres(directory, { durable: false });
  filling.defer(() => filled.close());
  for (const [name, fill] of Object.entries(fillings)) {
    progress(`rows of ${name} (${Math.round(performance.now() / 1000)} s)`);
    await onDatabase(filled.url, (sql) => sql`create database ${sql(name)}`);
    const url = urlOf(filled.url, name);
    await migrateDatabase(url);
    await seedDatabase(url, fixtures, fresh);
    await fill(url);
  }
  // The manual of Postgres recommends a quarter of the memory for a dedicated server.
  await onDatabase(filled.url, (sql) =>
    sql.unsafe(`alter system set shared_buffers = '${Math.floor(totalmem() / 2 ** 22)}MB'`),
  );
  await filling.disposeAsync();

  const durable = await startEmbeddedPostgres(directory);
  stack.defer(() => durable.close());
  for (const name of Object.keys(fillings)) await onDatabase(urlOf(durable.url, name), warmUp);
  return new Map(Object.keys(fillings).map((name) => [name, urlOf(durable.url, name)]));
}

/** Reads the tables into memory, where a service in use has them. */
async function warmUp(sql: postgres.Sql): Promise<void> {
  await sql`create extension pg_prewarm`;
  await sql`
    select pg_prewarm(oid) from pg_class
    where relname in ('webhooks', 'webhooks_application_id_id_pk', 'events', 'events_application_id_id_pk')`;
}

async function onDatabase(url: string, run: (sql: postgres.Sql) => Promise<unknown>): Promise<void> {
  const sql = openClient(url, { max: 1, onnotice: () => {} });
  try {
    await run(sql);
  } finally {
    await sql.end();
  }
}

function urlOf(url: string, database: string): string {
  return Object.assign(new URL(url), { pathname: database }).href;
}
