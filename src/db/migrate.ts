import { fileURLToPath } from 'node:url';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/postgres-js';
import { migrate } from 'drizzle-orm/postgres-js/migrator';
import postgres from 'postgres';

const migrationsFolder = fileURLToPath(new URL('../../drizzle', import.meta.url));

/** Any number, as long as every version of Usher uses the same. */
const LOCK = 7_580_447;

/**
 * Brings the database's tables up to date. Replicas that start together take turns. Throws an Error
 * of one line, without the password, where the database cannot be reached.
 */
export async function migrateDatabase(url: string): Promise<void> {
  const client = postgres(url, { max: 1, onnotice: () => {}, connect_timeout: 10 });
  const db = drizzle(client);
  try {
    await db.execute(sql`select pg_advisory_lock(${LOCK})`).catch((error) => {
      throw new Error(`The database at ${new URL(url).host} cannot be reached: ${reasonOf(error)}`);
    });
    await migrate(db, { migrationsFolder });
  } finally {
    // Ends the database session, and with it the lock.
    await client.end({ timeout: 5 });
  }
}

/** Of an error and its causes the innermost that says something. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner = error instanceof AggregateError ? error.errors[0] : error.cause;
  return inner === undefined ? error.message : reasonOf(inner);
}
