import { PostgresError } from './driver.ts';

/**
 * Postgres cannot be reached, did not answer in time, or refuses statements for now. The caller may try again later.
 */
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

/** The server is a standby or an old primary, so nothing may be written there. */
export class StandbyError extends ConnectionFailedError {
  constructor(server = 'The server', role = 'a standby') {
    super(`${server} is ${role}`);
  }
}

/** The statement was not answered by its deadline. */
export class DeadlinePassedError extends Error {
  constructor(message = 'No answer before the deadline') {
    super(message);
  }
}

/** The caller has left before the statement was sent. */
export class CallerGoneError extends DeadlinePassedError {
  constructor() {
    super('The caller has left');
  }
}

/** Returns the error that the caller of a statement gets if Postgres has not answered by the deadline. */
export function createLateError(): Error {
  return new DatabaseUnavailableError(new DeadlinePassedError());
}

/** The isolation of the statement ended before an isolated connection was free: it can run on a shared one. */
export class NotIsolatedError extends Error {}

/** Matches the messages about a lost Citus worker. Citus gives them no SQLSTATE of their own. */
const LOST_WORKER = new RegExp(
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

/** Returns whether the connection is lost or must be replaced, as after an error that says the server is read-only. */
export function isConnectionFault(error: unknown): error is Error {
  if (error instanceof ConnectionFailedError) return true;
  if (error instanceof PostgresError) {
    // Postgres reports the loss of this connection as FATAL. An ERROR of the same class is Citus's loss of another one.
    return error.code === '25006' || (error.severity !== 'ERROR' && /^(08|28|3D|57P|53300)/.test(error.code));
  }
  return error instanceof Error && 'code' in error && /^(CONNECT|E[A-Z])/.test(String(error.code));
}

/**
 * Returns whether the statement failed for a passing reason although the connection is sound: a lock, a deadlock, a
 * timeout, lack of memory, or an unavailable Citus worker.
 */
export function isTemporaryFailure(error: unknown): error is Error {
  if (error instanceof DeadlinePassedError) return true;
  if (!(error instanceof PostgresError)) return false;
  const isLostWorker = /^(XX000|58030)$/.test(error.code) && LOST_WORKER.test(`${error.message} ${error.where}`);
  return isLostWorker || /^(08|40|53|55P03|57)/.test(error.code);
}

/** Returns whether a unique index refused the statement. Citus drops the SQLSTATE when it copies rows to a shard. */
export function isUniqueViolation(error: unknown): boolean {
  const isUnnamed = sqlStateOf(error) === 'XX000' && /\bduplicate key value violates unique/.test(String(error));
  return isUnnamed || sqlStateOf(error) === '23505';
}

/** Returns whether Postgres has rolled a statement back because of concurrent ones. A retry may succeed. */
export function isSerializationFailure(error: unknown): boolean {
  return /^40(?!003)/.test(sqlStateOf(error));
}

/** Returns whether Postgres cancelled a statement because it waited for a lock for longer than `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return sqlStateOf(error) === '55P03';
}

/** Returns the SQLSTATE of a PostgresError or of an error that it caused. Empty for all others. */
export function sqlStateOf(error: unknown): string {
  const cause = error instanceof Error && error.cause ? error.cause : error;
  return cause instanceof PostgresError ? cause.code : '';
}

/** Returns the name of the constraint or index that refused the statement. */
export function constraintOf(error: unknown): string | undefined {
  const cause = error instanceof Error && error.cause ? error.cause : error;
  return cause instanceof PostgresError ? cause.constraint_name : undefined;
}
