import { stripVTControlCharacters, styleText } from 'node:util';
import { ProxyTracerProvider, trace } from '@opentelemetry/api';
import { DrizzleQueryError } from 'drizzle-orm';
import { type DestinationStream, type Logger, pino } from 'pino';
import postgres from 'postgres';

/** Lines are written when this many bytes are buffered, or after this time. */
const BATCH_BYTES = 4_096;
const BATCH_MS = 100;
/** The most bytes that are buffered while nobody reads the log. Further lines are lost. */
const MAX_BACKLOG_BYTES = 16 * 1024 * 1024;

/** An SDK of OpenTelemetry registers its provider before Usher is loaded. */
const provider = trace.getTracerProvider();
/** Whether an SDK is loaded. */
export const hasTracing =
  !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer('usher') !== undefined;

/** Writes JSON lines to standard output, or lines for people if that is a terminal. */
export function createLogger(
  level: string,
  destination: DestinationStream = process.stdout.isTTY ? terminal : standardOutput(),
): Logger {
  const options = { level, base: null, serializers: { err: serializeError } };
  return pino(hasTracing ? { ...options, mixin: readTraceId } : options, destination);
}

function readTraceId(): { traceId?: string } {
  const span = trace.getActiveSpan();
  return span ? { traceId: span.spanContext().traceId } : {};
}

/** Returns to the start of the line of a terminal, and clears it: it may show what a start is doing. */
export const CLEAR_LINE = '\r\x1b[K';

const terminal: DestinationStream = {
  write: (line) => void process.stdout.write(`${process.stderr.isTTY ? CLEAR_LINE : ''}${formatLine(line)}`),
};

const LEVEL_STYLES = { warn: 'yellow', error: 'red', fatal: 'red' } as const;

/**
 * Formats a JSON line for people: time, level, message and fields, followed by the stack of an error. A call that went
 * well is short and dim, so that login codes between such lines stand out.
 */
export function formatLine(line: string): string {
  const { level, time, msg, err, ...fields } = JSON.parse(line);
  const label = pino.levels.labels[level] ?? '';
  const style = LEVEL_STYLES[label as keyof typeof LEVEL_STYLES] ?? 'green';
  const clock = new Date(time).toTimeString().slice(0, 8);
  if (msg === 'call' && fields.code === 'ok') {
    const { protocol, method, status, durationMs } = fields;
    return `${styleText('dim', `${clock} ${protocol} ${method} ${status} ${durationMs} ms`)}\n`;
  }
  const pairs = Object.entries(fields).map(([name, value]) => ` ${styleText('dim', `${name}=`)}${formatValue(value)}`);
  const stack = err ? `\n${stripControls(err.stack ?? JSON.stringify(err))}` : '';
  return `${styleText('dim', clock)} ${styleText(style, label.padEnd(5))} ${msg}${pairs.join('')}${stack}\n`;
}

/** Quotes all but plain words, because a caller could forge lines or colours with other characters. */
function formatValue(value: unknown): string {
  return typeof value === 'string' && /^[\w.:/@+=-]+$/.test(value) ? value : JSON.stringify(value);
}

function stripControls(text: string): string {
  return stripVTControlCharacters(text).replace(/[^\P{Cc}\n]/gu, '');
}

/** Writes lines without blocking the event loop. Buffered lines are written when the process exits. */
function standardOutput(): DestinationStream {
  const destination = pino.destination({
    dest: 1,
    sync: false,
    minLength: BATCH_BYTES,
    periodicFlush: BATCH_MS,
    maxLength: MAX_BACKLOG_BYTES,
  });
  // The disk may be full, or the reader may be gone. The next write repeats these lines.
  destination.on('error', () => {});
  return destination;
}

/** Writes all buffered lines, and resolves to whether that succeeded in time, or the log has no reader. */
export function flushLog(logger: Logger, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), timeoutMs);
    logger.flush((error?: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      // Only a failed `write` is a failure: `fsync` fails on pipes and terminals. EPIPE means that there is no reader.
      resolve(error?.syscall !== 'write' || error.code === 'EPIPE');
    });
  });
}

/**
 * Serializes an error without the fields that may contain values of a caller: messages and details of Postgres quote
 * parameters, and messages of Drizzle contain the statement with its parameters.
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
