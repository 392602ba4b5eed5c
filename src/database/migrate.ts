import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { DrizzleQueryError, sql } from 'drizzle-orm';
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import { migrate } from 'drizzle-orm/postgres-js/migrator';
import postgres from 'postgres';
import { openClient } from './open-client.ts';

const MIGRATIONS = fileURLToPath(new URL('../../drizzle', import.meta.url));

/** The key of the advisory lock. Every version of Usher must use the same. */
const ADVISORY_LOCK = 7_580_447;

/**
 * How long a migration waits for a table. Statements of other replicas wait behind it, so it must be well below
 * their LOCK_TIMEOUT_MS.
 */
const TABLE_LOCK_TIMEOUT_MS = 30;
const PAUSE_MS = 200;
const ATTEMPTS = 100;

/** The codes of lock_not_available and deadlock_detected. */
const LOCK_CONFLICTS: readonly string[] = ['55P03', '40P01'];

/**
 * Brings the database's tables up to date. Replicas that start together migrate one after the other.
 *
 * @throws Error of one line, without the password, when the database cannot be reached.
 */
export async function migrateDatabase(url: string, folder = MIGRATIONS): Promise<void> {
  const client = openClient(url, { max: 1, onnotice: () => {}, connect_timeout: 10 });
  const db = drizzle(client);
  try {
    await db.execute(sql`select pg_advisory_lock(${ADVISORY_LOCK})`).catch((error) => {
      const host = decodeURIComponent(new URL(url).host);
      throw new Error(`The database at ${host} cannot be reached: ${reasonOf(error)}`);
    });
    await db.execute(sql.raw(`set lock_timeout = ${TABLE_LOCK_TIMEOUT_MS}`));
    await migrateBetweenCalls(db, folder);
  } finally {
    // Ends the database session, and with it the lock.
    await client.end({ timeout: 5 });
  }
}

/** Tries again after every conflict with the statements of other replicas. */
async function migrateBetweenCalls(db: PostgresJsDatabase, migrationsFolder: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await migrate(db, { migrationsFolder });
    } catch (error) {
      const cause = error instanceof DrizzleQueryError ? error.cause : error;
      const isConflict = cause instanceof postgres.PostgresError && LOCK_CONFLICTS.includes(cause.code);
      if (!isConflict || attempt >= ATTEMPTS) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

/** Returns the message of the innermost cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner = error instanceof AggregateError ? error.errors[0] : error.cause;
  return inner === undefined ? error.message : reasonOf(inner);
}
