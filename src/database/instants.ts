/**
 * Instants by the clock of Postgres, which all replicas share. In whole milliseconds, rounded down: columns would round
 * to the next. `BY_POSTGRES` has the value of their placeholder, `instant`.
 */
import { type SQL, sql } from 'drizzle-orm';
import { p } from './template.ts';

const replacement = p.instant('instant');

/** Returns the replacement if there is one. Not by `coalesce` or `case`, where Citus takes no clock. */
function orReplacement(clock: SQL): SQL {
  const own = sql`date_trunc('milliseconds', ${clock})`;
  return sql`(array[${own}, ${replacement}])[1 + (${replacement} is not null)::int]`;
}

/** The instant at which a row is made: evaluated where the rows before are locked. */
export const presentInstant = orReplacement(sql`clock_timestamp()`);

/** The instant at which the statement began, before it read anything. Citus sends it to its workers as a constant. */
export const statementInstant = orReplacement(sql`statement_timestamp()`);

/** Leaves the instants to Postgres. `DatabaseOptions.clock` replaces it. */
export const BY_POSTGRES = { instant: null };
