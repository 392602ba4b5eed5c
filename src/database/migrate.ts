import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { DrizzleQueryError, sql } from 'drizzle-orm';
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import { migrate } from 'drizzle-orm/postgres-js/migrator';
import postgres from 'postgres';

const MIGRATIONS = fileURLToPath(new URL('../../drizzle', import.meta.url));

/** Any number, as long as every version of Usher uses the same. */
const LOCK = 7_580_447;

/**
 * How long a migration waits for a table. Calls of other replicas wait behind it, and must not be taken
 * to be held up by a lock that stays.
 */
const TABLE_PATIENCE_MS = 50;
const PAUSE_MS = 200;
const ATTEMPTS = 100;

/**
 * Brings the database's tables up to date. Replicas that start together take turns. Throws an Error
 * of one line, without the password, where the database cannot be reached.
 */
export async function migrateDatabase(url: string, folder = MIGRATIONS): Promise<void> {
  const client = postgres(url, { max: 1, onnotice: () => {}, connect_timeout: 10 });
  const db = drizzle(client);
  try {
    await db.execute(sql`select pg_advisory_lock(${LOCK})`).catch((error) => {
      throw new Error(`The database at ${new URL(url).host} cannot be reached: ${reasonOf(error)}`);
    });
    await db.execute(sql.raw(`set lock_timeout = ${TABLE_PATIENCE_MS}`));
    await migratePatiently(db, folder);
  } finally {
    // Ends the database session, and with it the lock.
    await client.end({ timeout: 5 });
  }
}

/** Gives way to calls under way, and tries again. */
async function migratePatiently(db: PostgresJsDatabase, migrationsFolder: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await migrate(db, { migrationsFolder });
    } catch (error) {
      const cause = error instanceof DrizzleQueryError ? error.cause : error;
      const isInTheWay = cause instanceof postgres.PostgresError && GIVEN_WAY.includes(cause.code);
      if (!isInTheWay || attempt >= ATTEMPTS) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

/** lock_not_available and deadlock_detected. */
const GIVEN_WAY: readonly string[] = ['55P03', '40P01'];

/** Of an error and its causes the innermost that says something. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner = error instanceof AggregateError ? error.errors[0] : error.cause;
  return inner === undefined ? error.message : reasonOf(inner);
}
