/** What every execution of a statement needs, on whichever connection: its form, a span and metrics. */
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { drizzle } from 'drizzle-orm/postgres-js';
import type { Layout, PlaceholderValues, Receiver, Statement } from '../sql/statement.ts';

const tracer = trace.getTracer('usher');

const WRITES =
  /\b(insert into|update|delete from|merge into|for (no key )?update|for (key )?share|nextval|pg_(try_)?advisory_xact_lock)\b/i;

/** Only builds statements: it has no connection. */
const db = drizzle.mock();

/** Called when a statement has ended. The time includes retries. `errorType` is the class of the error, or empty. */
export type RecordStatement = (name: string, seconds: number, errorType: string) => void;

export interface StatementRunnerOptions {
  /** Decides which form of statements is sent. */
  readonly layout: Layout;
  readonly recordStatement?: RecordStatement | undefined;
  /** Replaces the clock of Postgres, in tests. */
  readonly clock?: (() => Date) | undefined;
}

export class StatementRunner {
  readonly #options: StatementRunnerOptions;

  constructor(options: StatementRunnerOptions) {
    this.#options = options;
  }

  run<Rows>(
    given: Statement<Rows>,
    parameters: PlaceholderValues,
    start: (statement: Statement<Rows>, values: PlaceholderValues, receiver: Receiver<Rows>) => void,
  ): Promise<Rows> {
    const { clock, layout, recordStatement } = this.#options;
    const statement = formOf(given, layout);
    // The cast is safe: templates without the form of a layout have this type of rows.
    if (!statement) return Promise.resolve(undefined as Rows);
    const values = clock ? { ...parameters, instant: clock() } : parameters;
    return new Promise((resolve, reject) => {
      const traced = traceStatement(statement, { resolve, reject });
      start(statement, values, recordStatement ? measure(recordStatement, statement, traced) : traced);
    });
  }
}

function measure<Rows>(record: RecordStatement, { name }: Statement<Rows>, { resolve, reject }: Receiver<Rows>) {
  const startedAt = performance.now();
  const recordNow = (errorType: string) => record(name, (performance.now() - startedAt) / 1_000, errorType);
  return {
    resolve: (rows: Rows) => {
      recordNow('');
      resolve(rows);
    },
    reject: (error: unknown) => {
      recordNow(error instanceof Error ? error.constructor.name : typeof error);
      reject(error);
    },
  };
}

/** Returns the statement as a database of this layout prepares it. */
export function formOf<Rows>(statement: Statement<Rows>, layout: Layout): Statement<Rows> | undefined {
  return statement.forms ? statement.forms[layout] : statement;
}

/** Gives a statement a span of its own if its call is traced. The span never contains parameters. */
function traceStatement<Rows>({ name }: Statement<Rows>, receiver: Receiver<Rows>): Receiver<Rows> {
  if (!trace.getActiveSpan()?.isRecording()) return receiver;
  const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': name };
  const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes });
  return {
    resolve: (rows) => {
      span.end();
      receiver.resolve(rows);
    },
    reject: (error) => {
      const type = error instanceof Error ? error.name : typeof error;
      span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR }).end();
      receiver.reject(error);
    },
  };
}

/** Distinguishes statements that only read from those whose commit may wait for a standby. */
export class ReadDetector {
  readonly #known = new Map<Statement<unknown>, boolean>();

  /** Returns false for a statement that may write, or lock something. */
  isRead(statement: Statement<unknown>): boolean {
    const known = this.#known.get(statement);
    if (known !== undefined) return known;
    const isRead = !WRITES.test(statement(db).getQuery().sql);
    this.#known.set(statement, isRead);
    return isRead;
  }
}
