/** A Postgres with several databases in it, each of them filled in its own way. */
import postgres from 'postgres';
import { startEmbeddedPostgres } from '../../../src/db/embedded.ts';
import { migrateDatabase } from '../../../src/db/migrate.ts';
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
    await createDatabase(hurried.url, name);
    const url = urlOf(hurried.url, name);
    await migrateDatabase(url);
    await seedDatabase(url, fixtures, FRESH_ROWS);
    await fill(url);
  }
  await filling.disposeAsync();

  const lasting = await startEmbeddedPostgres(directory);
  stack.defer(() => lasting.close());
  return new Map(Object.keys(fillings).map((name) => [name, urlOf(lasting.url, name)]));
}

async function createDatabase(url: string, name: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await sql`create database ${sql(name)}`;
  await sql.end();
}

function urlOf(url: string, database: string): string {
  return Object.assign(new URL(url), { pathname: database }).href;
}
