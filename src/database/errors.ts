import postgres from 'postgres';

/** Postgres cannot be reached, did not answer in time, or accepts no work for now. The caller may try again later. */
export class DatabaseUnavailableError extends Error {
  /** For the log: an error code or a fixed text, never a caller's data. */
  readonly reason: string;

  constructor(why: string | Error) {
    const reason = typeof why === 'string' ? why : 'code' in why ? String(why.code) : why.message;
    super(`The database is unavailable: ${reason}`, typeof why === 'string' ? undefined : { cause: why });
    this.reason = reason;
  }
}

/** There is no connection to Postgres. */
export class ConnectionFailedError extends Error {}

/** The server is a standby, or was replaced as the primary, so nothing may be written there. */
export class StandbyError extends ConnectionFailedError {
  constructor(server = 'The server', role = 'a standby') {
    super(`${server} is ${role}`);
  }
}

/** The statement was not answered by its deadline. */
export class DeadlinePassedError extends Error {
  constructor() {
    super('No answer before the deadline');
  }
}

/** Returns the error of a statement that was not answered by its deadline, for its caller. */
export function createLateError(): Error {
  return new DatabaseUnavailableError(new DeadlinePassedError());
}

/** The isolation of the statement has ended before it got a connection. */
export class NotIsolatedError extends Error {}

/** What Citus says of a worker that it has lost, without a code of its own. */
const OF_WORKER = new RegExp(
  [
    'while executing command on ',
    'failure on connection marked as essential',
    'failed to COPY to shard',
    'failed to prepare transaction ',
    'failed to read result ',
    'cannot connect to .* to fetch intermediate results',
    'postmaster was shut down',
    'terminating connection due to ',
    'server closed the connection unexpectedly',
    'connection not open',
  ].join('|'),
);

/** Returns whether the connection is lost or cannot be trusted any more. */
export function isConnectionFault(error: unknown): error is Error {
  if (error instanceof ConnectionFailedError) return true;
  if (error instanceof postgres.PostgresError) {
    // A connection that is lost ends with FATAL. Citus reports a loss of its own connections as an ERROR.
    return error.code === '25006' || (error.severity !== 'ERROR' && /^(08|28|3D|57P|53300)/.test(error.code));
  }
  return error instanceof Error && 'code' in error && /^(CONNECT|E[A-Z])/.test(String(error.code));
}

/**
 * Returns whether the connection is sound but the statement failed for now: a lock, a deadlock, a timeout, no memory, or
 * a worker of Citus that is away, which may come without a code of its own.
 */
export function isTemporaryFailure(error: unknown): error is Error {
  if (error instanceof DeadlinePassedError) return true;
  if (!(error instanceof postgres.PostgresError)) return false;
  const isOfWorker = /^(XX000|58030)$/.test(error.code) && OF_WORKER.test(`${error.message} ${error.where}`);
  return isOfWorker || /^(08|40|53|55P03|57)/.test(error.code);
}

/** Returns whether a unique index refused the statement. */
export function isUniqueViolation(error: unknown): boolean {
  return sqlStateOf(error) === '23505';
}

/** Returns whether Postgres has undone a statement because of others at the same time: the next attempt may succeed. */
export function isSerializationFailure(error: unknown): boolean {
  return /^40(?!003)/.test(sqlStateOf(error));
}

/** Returns whether Postgres ended a statement, without effect, because it waited too long for a lock. */
export function isLockTimeout(error: unknown): boolean {
  return sqlStateOf(error) === '55P03';
}

/** Returns the code of the error of Postgres that this is or was caused by, or an empty string. */
export function sqlStateOf(error: unknown): string {
  const cause = error instanceof Error && error.cause ? error.cause : error;
  return cause instanceof postgres.PostgresError ? cause.code : '';
}
