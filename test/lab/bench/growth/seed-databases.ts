import { totalmem } from 'node:os';
import type postgres from 'postgres';
import { startEmbeddedPostgres } from '../../../../src/database/embedded/embedded-postgres.ts';
import { migrateDatabase } from '../../../../src/database/migrate/migrate.ts';
import { onServer, withDatabase } from '../../../../src/testing/on-server.ts';
import { createFixtures, type Fixtures } from '../fixtures.ts';
import type { Progress } from '../run-bench.ts';
import { seedDatabase } from '../seed-database.ts';
import { makeDirectory } from '../set-up.ts';
import { FRESH_ROWS } from './seed-bulk.ts';

/**
 * Starts a Postgres with a database for each of the functions, which insert more than the common rows, and returns their
 * URLs. It is durable once they are filled.
 */
export async function seedDatabases(
  stack: AsyncDisposableStack,
  progress: Progress,
  fillings: Readonly<Record<string, (url: string, fixtures: Fixtures) => Promise<void>>>,
): Promise<{ directory: string; fixtures: Fixtures; urls: readonly string[] }> {
  const directory = await makeDirectory(stack);
  const fixtures = createFixtures();
  await using filling = new AsyncDisposableStack();
  const filled = await startEmbeddedPostgres(directory, { durable: false });
  filling.defer(() => filled.close());
  for (const [name, fill] of Object.entries(fillings)) {
    progress(`rows of ${name}`);
    await onServer(filled.url, (sql) => sql`create database ${sql(name)}`);
    const url = withDatabase(filled.url, name);
    await migrateDatabase(url);
    await seedDatabase(url, fixtures, FRESH_ROWS);
    await fill(url, fixtures);
  }
  // The manual of Postgres recommends a quarter of the memory for a dedicated server.
  await onServer(filled.url, (sql) =>
    sql.unsafe(`alter system set shared_buffers = '${Math.floor(totalmem() / 2 ** 22)}MB'`),
  );
  await filling.disposeAsync();

  const durable = await startEmbeddedPostgres(directory);
  stack.defer(() => durable.close());
  const urls = Object.keys(fillings).map((name) => withDatabase(durable.url, name));
  for (const url of urls) await onServer(url, warmUp);
  return { directory, fixtures, urls };
}

/** Reads the tables into memory, where a service in use has them. */
async function warmUp(sql: postgres.Sql): Promise<void> {
  await sql`create extension pg_prewarm`;
  await sql`
    select pg_prewarm(oid) from pg_class
    where relname in ('webhooks', 'webhooks_application_id_id_pk', 'events', 'events_application_id_id_pk')`;
}
