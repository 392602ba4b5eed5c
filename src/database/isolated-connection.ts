import { DatabaseUnavailableError, DeadlinePassedError } from './errors.ts';
import { PipelinedConnection } from './pipelined-connection.ts';
import type { StatementCall } from './statement.ts';

/** A connection that runs one statement at a time. Postgres ends the statement at its deadline, without effect. */
export class IsolatedConnection extends PipelinedConnection {
  override async run<Rows>(call: StatementCall<Rows>): Promise<Rows> {
    const { deadline } = call;
    const timeoutMs = Math.min(Math.ceil(deadline - performance.now()), this.options.statementTimeoutMs);
    this.setStatementTimeout(timeoutMs);
    try {
      return await super.run(call);
    } catch (error) {
      const isLate = error instanceof DatabaseUnavailableError && performance.now() >= deadline;
      throw isLate ? new DatabaseUnavailableError(new DeadlinePassedError()) : error;
    }
  }
}
