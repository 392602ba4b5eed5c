/** What keeps Usher from starting on a database, in one line that says what to do. */
import { DrizzleQueryError } from 'drizzle-orm';
import postgres from 'postgres';
import { StandbyError } from './errors.ts';

/** What to do about the SQLSTATEs that an operator can mend. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/^28/, 'Check user and password in DATABASE_URL, and pg_hba.conf.'],
  [/^3D000/, "Create it: CREATE DATABASE … ENCODING 'UTF8'."],
  [
    /^42501/,
    'Grant what is missing: GRANT CREATE ON DATABASE … TO …; or, where another role migrates, ' +
      'USAGE on its schema and SELECT, INSERT, UPDATE and DELETE on its tables.',
  ],
  [/^25006/, 'Name the primary in DATABASE_URL, and leave default_transaction_read_only off.'],
  [/^53300/, 'Raise max_connections, or lower DATABASE_CONNECTIONS or WORKERS.'],
  [/^42P07|^42710/, 'Tables of the same name exist. Name another schema in DATABASE_SCHEMA.'],
];

/** Returns what happened, with the reason of Postgres and what to do about it. */
export function describeFailure(error: unknown): string {
  const cause = innermost(error);
  if (!(cause instanceof Error)) return String(cause);
  if (cause instanceof StandbyError)
    return `${cause.message}. Name the primary in DATABASE_URL, or wait for a failover`;
  // postgres.js names the address here, which the caller has named already.
  if ('code' in cause && cause.code === 'CONNECTION_CLOSED') return 'the connection was lost';
  const advice = cause instanceof postgres.PostgresError && ADVICE.find(([code]) => code.test(cause.code))?.[1];
  const reason = cause.message.replace(/\s+/g, ' ').replace(/\.?$/, '');
  return advice ? `${reason}. ${advice}` : reason;
}

/** What Drizzle adds is the statement, and an AggregateError has no message. */
function innermost(error: unknown): unknown {
  if (error instanceof AggregateError) return innermost(error.errors[0]);
  if (error instanceof DrizzleQueryError) return innermost(error.cause);
  return error;
}
