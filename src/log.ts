import { stripVTControlCharacters, styleText } from 'node:util';
import { trace } from '@opentelemetry/api';
import { DrizzleQueryError } from 'drizzle-orm';
import { type DestinationStream, type Logger, pino } from 'pino';
import postgres from 'postgres';

/** Lines are written in batches: after so many bytes, or so much time. */
const BATCH_BYTES = 4_096;
const BATCH_MS = 100;
/** How much is kept while nobody reads the log. Lines beyond that are lost. */
const MAX_BACKLOG_BYTES = 16 * 1024 * 1024;

/** Creates a logger that writes a JSON object per line, by default to standard output: for people if it is a terminal. */
export function createLogger(
  level: string,
  destination: DestinationStream = process.stdout.isTTY ? terminal : standardOutput(),
): Logger {
  return pino({ level, base: null, mixin: readTraceId, serializers: { err: serializeError } }, destination);
}

/** Returns the trace of the call that the line belongs to, if it is traced. */
function readTraceId(): { traceId?: string } {
  const span = trace.getActiveSpan();
  return span ? { traceId: span.spanContext().traceId } : {};
}

const terminal: DestinationStream = { write: (line) => void process.stdout.write(formatLine(line)) };

const LEVEL_STYLES = { warn: 'yellow', error: 'red', fatal: 'red' } as const;

/** Returns a line of the log for people: time, level, message, fields, and the stack of an error below. */
export function formatLine(line: string): string {
  const { level, time, msg, err, ...fields } = JSON.parse(line);
  const label = pino.levels.labels[level] ?? '';
  const style = LEVEL_STYLES[label as keyof typeof LEVEL_STYLES] ?? 'green';
  const clock = new Date(time).toTimeString().slice(0, 8);
  const pairs = Object.entries(fields).map(([name, value]) => ` ${styleText('dim', `${name}=`)}${formatValue(value)}`);
  const stack = err ? `\n${stripControls(err.stack ?? JSON.stringify(err))}` : '';
  return `${styleText('dim', clock)} ${styleText(style, label.padEnd(5))} ${msg}${pairs.join('')}${stack}\n`;
}

/** Quotes text that a caller could have used to write lines or colours of its own. */
function formatValue(value: unknown): string {
  return typeof value === 'string' && /^[\w.:/@+=-]+$/.test(value) ? value : JSON.stringify(value);
}

function stripControls(text: string): string {
  return stripVTControlCharacters(text).replace(/[^\P{Cc}\n]/gu, '');
}

/** Writes off the main thread. The rest is written when the process exits. */
function standardOutput(): DestinationStream {
  const destination = pino.destination({
    dest: 1,
    sync: false,
    minLength: BATCH_BYTES,
    periodicFlush: BATCH_MS,
    maxLength: MAX_BACKLOG_BYTES,
  });
  // A full disk, or a reader that is gone. The lines are written again with the next ones.
  destination.on('error', () => {});
  return destination;
}

/** Returns the milliseconds since an instant of `performance.now()`, to the hundredth. */
export function durationMsSince(instant: number): number {
  return Math.round((performance.now() - instant) * 100) / 100;
}

/** Writes all lines. Resolves to whether they were written within the time. */
export function flushLog(logger: Logger, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), timeoutMs);
    logger.flush((error?: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      // Pipes and terminals cannot be synchronized, which is an error too. Without a reader nothing is left to do.
      resolve(error?.syscall !== 'write' || error.code === 'EPIPE');
    });
  });
}

/**
 * Leaves out what may hold a value of a caller's: messages and details of Postgres quote parameters, and
 * Drizzle's messages hold the whole statement.
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
