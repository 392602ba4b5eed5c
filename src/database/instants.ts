/**
 * Instants by the clock of Postgres, which all replicas share. In whole milliseconds, rounded down: columns would round
 * to the next. `BY_POSTGRES` has the value of their placeholder, `instant`.
 */
import { sql } from 'drizzle-orm';

const replacement = sql`${sql.placeholder('instant')}::timestamptz`;

/** The instant at which a row is made: evaluated where the rows before are locked. */
export const presentInstant = sql`coalesce(${replacement}, date_trunc('milliseconds', clock_timestamp()))`;

/** The instant at which the statement began, before it read anything. Citus sends it to its workers as a constant. */
export const statementInstant = sql`coalesce(${replacement}, date_trunc('milliseconds', statement_timestamp()))`;

/** Leaves the instants to Postgres. `DatabaseOptions.clock` replaces it. */
export const BY_POSTGRES = { instant: null };
