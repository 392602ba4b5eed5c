import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/postgres-js';
import { migrate } from 'drizzle-orm/postgres-js/migrator';
import postgres from 'postgres';

const migrationsFolder = new URL('../../drizzle', import.meta.url).pathname;

/** Any number, as long as every version of Usher uses the same. */
const LOCK = 7_580_447;

/** Brings the database's tables up to date. Replicas that start together take turns. */
export async function migrateDatabase(url: string): Promise<void> {
  const client = postgres(url, { max: 1, onnotice: () => {}, connect_timeout: 10 });
  const db = drizzle(client);
  try {
    await db.execute(sql`select pg_advisory_lock(${LOCK})`);
    await migrate(db, { migrationsFolder });
  } finally {
    // Ends the database session, and with it the lock.
    await client.end({ timeout: 5 });
  }
}
