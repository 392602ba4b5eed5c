/**
 * SQL for instants by the clock of Postgres, which all replicas share. They are rounded down to whole milliseconds; a
 * column would round some of them up. Each has the placeholder `instant`, which is null, as in `BY_POSTGRES`, unless a
 * test replaces the clock.
 */
import { type SQL, sql } from 'drizzle-orm';
import { p } from './template.ts';

const replacement = p.instant('instant');

/** Returns the replacement, or the time of the clock if it is null. Citus allows no clock in `coalesce` or `case`. */
function orReplacement(clock: SQL): SQL {
  const own = sql`date_trunc('milliseconds', ${clock})`;
  return sql`(array[${own}, ${replacement}])[1 + (${replacement} is not null)::int]`;
}

/** The time when Postgres evaluates the expression: in a CTE that reads locked rows, after the wait for their locks. */
export const presentInstant = orReplacement(sql`clock_timestamp()`);

/**
 * The time when Postgres received the statement, before it read any row. Citus sends it to its workers as a constant.
 */
export const statementInstant = orReplacement(sql`statement_timestamp()`);

/** The parameter that selects the clock of Postgres. `DatabaseOptions.clock` replaces it. */
export const BY_POSTGRES = { instant: null };
