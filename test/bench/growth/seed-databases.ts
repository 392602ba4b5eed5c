/** A Postgres with several databases in it, each of them filled in its own way. */
import { totalmem } from 'node:os';
import type postgres from 'postgres';
import { startEmbeddedPostgres } from '../../../src/database/embedded-postgres.ts';
import { migrateDatabase } from '../../../src/database/migrate.ts';
import { openClient } from '../../../src/database/open-client.ts';
import type { Fixtures } from '../fixtures.ts';
import type { Progress } from '../run-bench.ts';
import { seedDatabase } from '../seed-database.ts';
import { FRESH_ROWS } from './seed-bulk.ts';

/** By name, what fills a database beyond the common rows. */
export type Fillings = Readonly<Record<string, (url: string) => Promise<void>>>;

/** Resolves to the URLs by name. While it fills Postgres need not survive a crash; afterwards it would. */
export async function seedDatabases(
  stack: AsyncDisposableStack,
  { directory, fixtures, progress }: { directory: string; fixtures: Fixtures; progress: Progress },
  fillings: Fillings,
): Promise<ReadonlyMap<string, string>> {
  await using filling = new AsyncDisposableStack();
  const hurried = await startEmbeddedPostgres(directory, { durable: false });
  filling.defer(() => hurried.close());
  for (const [name, fill] of Object.entries(fillings)) {
    progress(`rows of ${name} (${Math.round(performance.now() / 1000)} s)`);
    await onDatabase(hurried.url, (sql) => sql`create database ${sql(name)}`);
    const url = urlOf(hurried.url, name);
    await migrateDatabase(url);
    await seedDatabase(url, fixtures, FRESH_ROWS);
    await fill(url);
  }
  // What the manual of Postgres advises for a server of its own: a quarter of the memory.
  await onDatabase(hurried.url, (sql) =>
    sql.unsafe(`alter system set shared_buffers = '${Math.floor(totalmem() / 2 ** 22)}MB'`),
  );
  await filling.disposeAsync();

  const lasting = await startEmbeddedPostgres(directory);
  stack.defer(() => lasting.close());
  for (const name of Object.keys(fillings)) await onDatabase(urlOf(lasting.url, name), warmUp);
  return new Map(Object.keys(fillings).map((name) => [name, urlOf(lasting.url, name)]));
}

/** Reads into memory what calls read, which after a while in service would be there. */
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
