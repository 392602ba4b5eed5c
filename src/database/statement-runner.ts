import { formOf, type Layout, type PlaceholderValues, type Statement } from './statement.ts';
import { traceStatement } from './statement-span.ts';

/** Called when a statement has ended. The time includes retries. `errorType` is the class of the error, or empty. */
export type RecordStatement = (name: string, seconds: number, errorType: string) => void;

export interface StatementRunnerOptions {
  /** Decides which form of statements is sent. */
  readonly layout: Layout;
  readonly recordStatement?: RecordStatement | undefined;
  /** Replaces the clock of Postgres, in tests. */
  readonly clock?: (() => Date) | undefined;
}

/** Does what every execution of a statement needs, on whichever connection: its form, a span and metrics. */
export class StatementRunner {
  readonly #options: StatementRunnerOptions;

  constructor(options: StatementRunnerOptions) {
    this.#options = options;
  }

  run<Rows>(
    given: Statement<Rows>,
    parameters: PlaceholderValues,
    execute: (statement: Statement<Rows>, values: PlaceholderValues) => Promise<Rows>,
  ): Promise<Rows> {
    const { clock, layout, recordStatement } = this.#options;
    const statement = formOf(given, layout);
    // The cast is safe: templates without the form of a layout have this type of rows.
    if (!statement) return Promise.resolve(undefined as Rows);
    const values = clock ? { ...parameters, instant: clock() } : parameters;
    const executeWithValues = () => execute(statement, values);
    return traceStatement(
      statement,
      recordStatement ? measure(recordStatement, statement, executeWithValues) : executeWithValues,
    );
  }
}

function measure<Rows>(record: RecordStatement, { name }: Statement<Rows>, execute: () => Promise<Rows>) {
  return async () => {
    const startedAt = performance.now();
    const recordNow = (errorType: string) => record(name, (performance.now() - startedAt) / 1_000, errorType);
    try {
      const rows = await execute();
      recordNow('');
      return rows;
    } catch (error) {
      recordNow(error instanceof Error ? error.constructor.name : typeof error);
      throw error;
    }
  };
}
