/** How a migration waits for tables that others use. */
import type postgres from 'postgres';
import { sqlStateOf } from './errors.ts';

/**
 * How long a migration waits for a table. Statements of other replicas wait behind it, so it must be well below
 * their LOCK_TIMEOUT_MS.
 */
export const TABLE_LOCK_TIMEOUT_MS = 30;

/** How long after `deadlock_timeout` an autovacuum ends that Postgres has cancelled, on a busy machine. */
const CANCEL_MS = 1_000;

/** Returns whether others use a table: lock_not_available or deadlock_detected. */
export function isLockConflict(error: unknown): boolean {
  return /^(55P03|40P01)$/.test(sqlStateOf(error));
}

/**
 * Makes the transaction wait for tables until Postgres cancels the autovacuum that holds them, if one may: it does so for
 * statements that have waited for `deadlock_timeout`. Callers of other replicas wait as long, on connections of their own.
 */
export async function awaitCancelledVacuum(client: postgres.Sql): Promise<void> {
  await client`
    select set_config('lock_timeout', (extract(epoch from current_setting('deadlock_timeout')::interval) * 1000
      + ${CANCEL_MS}::int)::int::text, true)
    where exists (
      select from pg_locks join pg_database on pg_database.oid = pg_locks.database
      where datname = current_database() and mode = 'ShareUpdateExclusiveLock' and granted and relation is not null
    )`;
}
