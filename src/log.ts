import { DrizzleQueryError } from 'drizzle-orm';
import { type DestinationStream, type Logger, pino } from 'pino';
import postgres from 'postgres';

/** Lines are written together once there are so many bytes of them, or so much time has passed. */
const BATCH_BYTES = 4_096;
const BATCH_MS = 100;
/** How much is kept of a log that nobody takes. Lines beyond that are lost. */
const MAX_BACKLOG_BYTES = 16 * 1024 * 1024;

/** Structured logs: a JSON object per line, to standard output unless told otherwise. */
export function createLogger(level: string, destination: DestinationStream = standardOutput()): Logger {
  return pino({ level, base: null, serializers: { err: serializeError } }, destination);
}

/** Written off the main thread, and what is left when the process exits. */
function standardOutput(): DestinationStream {
  const destination = pino.destination({
    dest: 1,
    sync: false,
    minLength: BATCH_BYTES,
    periodicFlush: BATCH_MS,
    maxLength: MAX_BACKLOG_BYTES,
  });
  // A full disk, or a reader that is gone: what could not be written is tried again with the next lines.
  destination.on('error', () => {});
  return destination;
}

/** The time since an instant of `performance.now()`, in milliseconds to the hundredth. */
export function durationMsSince(instant: number): number {
  return Math.round((performance.now() - instant) * 100) / 100;
}

/** Resolves to whether every line has been taken within the time. */
export function flushLog(logger: Logger, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), timeoutMs);
    logger.flush((error?: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      // What has been written to a pipe or a terminal cannot be synchronized, which is an error too; and where
      // its reader has gone, nobody takes a line any more.
      resolve(error?.syscall !== 'write' || error.code === 'EPIPE');
    });
  });
}

/**
 * Of an error only what never holds a value of a caller's: messages and details of Postgres may
 * quote parameters, and Drizzle's hold the whole statement.
 */
function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { type: typeof error };
  const isFromPostgres = error instanceof postgres.PostgresError || error instanceof DrizzleQueryError;
  const { code, constraint_name, table_name, column_name } = error as Error & Record<string, unknown>;
  return {
    type: error.name,
    message: isFromPostgres ? undefined : error.message,
    code,
    constraint: constraint_name,
    table: table_name,
    column: column_name,
    stack: isFromPostgres ? error.stack?.replace(error.message, '') : error.stack,
    cause: error.cause === undefined ? undefined : serializeError(error.cause),
  };
}
