/** How long a migration waits for tables that other connections use. */

import type { PostgresClient } from '../sql/driver.ts';
import { sqlStateOf } from '../sql/errors.ts';

/**
 * How long a migration waits for a table. Statements of other replicas wait behind the migration, so this must be well
 * below their LOCK_TIMEOUT_MS.
 */
export const TABLE_LOCK_TIMEOUT_MS = 30;

/** How long a cancelled autovacuum takes to end on a busy machine. */
const CANCEL_MS = 1_000;

/** Returns whether another connection uses a table: lock_not_available or deadlock_detected. */
export function isLockConflict(error: unknown): boolean {
  return /^(55P03|40P01)$/.test(sqlStateOf(error));
}

/**
 * If a vacuum may hold a table, raises the `lock_timeout` of the transaction, so that Postgres cancels an autovacuum:
 * it does so for statements that have waited for `deadlock_timeout`. Statements of other replicas wait as long,
 * isolated.
 */
export async function awaitCancelledVacuum(client: PostgresClient): Promise<void> {
  await client`
    select set_config('lock_timeout', (extract(epoch from current_setting('deadlock_timeout')::interval) * 1000
      + ${CANCEL_MS}::int)::int::text, true)
    where exists (
      select from pg_locks join pg_database on pg_database.oid = pg_locks.database
      where datname = current_database() and mode = 'ShareUpdateExclusiveLock' and granted and relation is not null
    )`;
}
