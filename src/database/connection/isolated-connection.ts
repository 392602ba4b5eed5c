import { createLateError, DatabaseUnavailableError } from '../sql/errors.ts';
import type { StatementExecution } from '../sql/statement.ts';
import { PipelinedConnection } from './pipelined-connection.ts';

/**
 * A connection that runs one statement at a time. At its deadline Postgres cancels the statement, so it has no effect.
 */
export class IsolatedConnection extends PipelinedConnection {
  override async run<Rows>(execution: StatementExecution<Rows>): Promise<Rows> {
    const { deadline } = execution;
    const remainingMs = Math.ceil(deadline - performance.now());
    // At least 1 ms: 0 would mean no limit, and Postgres refuses negative limits.
    this.setStatementTimeout(Math.max(1, Math.min(remainingMs, this.options.statementTimeoutMs)));
    try {
      return await super.run(execution);
    } catch (error) {
      const isLate = error instanceof DatabaseUnavailableError && performance.now() >= deadline;
      throw isLate ? createLateError() : error;
    }
  }
}
