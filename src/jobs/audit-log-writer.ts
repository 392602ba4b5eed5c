/**
 * Writes audit events to the log, with `AUDIT_LOG=log`. The row of an event is deleted once its log line is written.
 */
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import type { Database, Divert, Run } from '../database/database.ts';
import { AuditOutbox, findEvents, findLateEvents, removeEvents } from '../domain/audit/audit-outbox.ts';
import { type AuditEvent, presentAuditEvent } from '../domain/audit/list-audit-events.ts';
import { pause } from '../domain/pause.ts';
import { flushLog } from '../log.ts';

/** The events of this interval are read by one statement and deleted by one. */
const BATCH_MS = 200;
const LATE_INTERVAL_MS = 30_000;
const STATEMENT_MS = 5_000;
/** How long the writer waits for the log to be written, and then until it tries again. */
const FLUSH_MS = 1_000;
const CLOSE_MS = 3_000;

interface WriterParts {
  readonly clock: () => Date;
  readonly database: Pick<Database, 'within'>;
  readonly logger: Logger;
}

export class AuditLogWriter {
  readonly #outbox: AuditOutbox | undefined;
  /** Makes statements write audit events to the outbox. Undefined if events stay in the table `audit_events`. */
  readonly divert: Divert | undefined;

  constructor({ auditLog }: Pick<Config, 'auditLog'>) {
    this.#outbox = auditLog === 'log' ? new AuditOutbox() : undefined;
    this.divert = this.#outbox?.divert;
  }

  /** Starts to write events. Returns a function that stops that and writes the rest; call it when no calls are left. */
  start(parts: WriterParts): () => Promise<void> {
    const outbox = this.#outbox;
    if (!outbox) return async () => {};
    const closing = new AbortController();
    const running = run(outbox, parts, closing.signal);
    return async () => {
      closing.abort();
      await running;
      await attempt(parts, writeOwn(outbox, parts, AbortSignal.timeout(CLOSE_MS)));
    };
  }
}

async function run(outbox: AuditOutbox, parts: WriterParts, signal: AbortSignal): Promise<void> {
  let lateAt = 0;
  while (!signal.aborted) {
    if (performance.now() >= lateAt) {
      await attempt(parts, writeLate(parts, signal));
      // Jitter, so that replicas that started together do not write the same events.
      lateAt = performance.now() + LATE_INTERVAL_MS * (0.5 + Math.random());
    }
    await Promise.race([outbox.arrival, pause(lateAt - performance.now(), signal)]);
    await pause(BATCH_MS, signal);
    if (!signal.aborted) await attempt(parts, writeOwn(outbox, parts, signal));
  }
}

async function attempt({ logger }: WriterParts, work: Promise<void>): Promise<void> {
  await work.catch((error: unknown) => logger.warn({ err: error }, 'audit events not logged yet'));
}

async function writeOwn(outbox: AuditOutbox, parts: WriterParts, signal: AbortSignal): Promise<void> {
  while (outbox.hasEvents && !signal.aborted) await write(parts, (run) => findEvents(run, outbox.take()), signal);
}

/** Writes events of processes that have ended, or that could not write their log for long. */
async function writeLate(parts: WriterParts, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && (await write(parts, (run) => findLateEvents(run, parts.clock()), signal)) > 0);
}

/**
 * Writes the events that `find` returns, and deletes their rows. If a log line may be lost, its row is kept, and
 * `writeLate` finds it again. Returns how many events were deleted.
 */
async function write(
  { database, logger }: WriterParts,
  find: (run: Run) => Promise<readonly AuditEvent[]>,
  signal: AbortSignal,
): Promise<number> {
  const start: Run = (statement, parameters) =>
    database.within(performance.now() + STATEMENT_MS)(statement, parameters);
  // Waits until the buffer of the log is empty: lines that do not fit into it would be lost.
  if (!(await isWritten(logger, signal))) return 0;
  const events = await find(start);
  // Audit events are logged even if LOG_LEVEL is above `info`.
  const lines = logger.child({}, { level: 'info' });
  for (const event of events) lines.info(presentAuditEvent(event), 'audit event');
  if (events.length === 0 || !(await isWritten(logger, signal))) return 0;
  const ids = events.map(({ id }) => id);
  await removeEvents(start, ids);
  return events.length;
}

async function isWritten(logger: Logger, signal: AbortSignal): Promise<boolean> {
  while (!(await flushLog(logger, FLUSH_MS, { needsReader: true }))) {
    if (signal.aborted) return false;
    await pause(FLUSH_MS, signal);
  }
  return true;
}
