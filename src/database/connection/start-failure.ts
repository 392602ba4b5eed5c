/** Describes in one line why Usher cannot start on a database, with advice. */
import { DrizzleQueryError } from 'drizzle-orm';
import { PostgresError } from '../sql/driver.ts';
import { DatabaseUnavailableError, DeadlinePassedError, StandbyError } from '../sql/errors.ts';

/** The SQLSTATE of a statement that `statement_timeout` has ended. */
const LATE = '57014';

/** Advice for the SQLSTATEs whose cause an operator can remove. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/^28/, 'Check user and password in DATABASE_URL, and pg_hba.conf.'],
  [/^3D000/, "Create it: CREATE DATABASE … ENCODING 'UTF8'."],
  [
    /^42501/,
    'Grant what is missing: GRANT CREATE ON DATABASE … TO …; or, where another role migrates, ' +
      'USAGE on its schema and SELECT, INSERT, UPDATE and DELETE on its tables.',
  ],
  [/^25006/, 'Name the primary in DATABASE_URL, and leave default_transaction_read_only off.'],
  [/^53300/, 'Raise max_connections, or lower DATABASE_CONNECTIONS or the number of replicas.'],
  [/^42P07|^42710/, 'Tables of the same name exist. Name another schema in DATABASE_SCHEMA.'],
];

/** Returns the reason that Postgres or the connection gives, and advice if there is any. */
export function describeFailure(error: unknown): string {
  const cause = findInnermost(error);
  if (!(cause instanceof Error)) return String(cause);
  if (cause instanceof StandbyError)
    return `${cause.message}. Name the primary in DATABASE_URL, or wait for a failover`;
  if (
    cause instanceof DatabaseUnavailableError &&
    (cause.reason === LATE || cause.cause instanceof DeadlinePassedError)
  )
    return 'The database did not answer in time. Raise REQUEST_TIMEOUT_MS';
  // The message of postgres.js repeats the address, which the caller adds anyway.
  if ('code' in cause && cause.code === 'CONNECTION_CLOSED') return 'the connection was lost';
  const advice = cause instanceof PostgresError && ADVICE.find(([code]) => code.test(cause.code))?.[1];
  const reason = cause.message.replace(/\s+/g, ' ').replace(/\.?$/, '');
  return advice ? `${reason}. ${advice}` : reason;
}

/** Unwraps errors whose message helps nobody: that of Drizzle is the statement, that of an AggregateError is empty. */
function findInnermost(error: unknown): unknown {
  if (error instanceof AggregateError) return findInnermost(error.errors[0]);
  if (error instanceof DrizzleQueryError) return findInnermost(error.cause);
  return error;
}
