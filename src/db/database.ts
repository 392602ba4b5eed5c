import { sql } from 'drizzle-orm';
import { DatabaseUnavailableError, type Deadline, Lane, type Parameters, type Statement } from './lane.ts';

export {
  DatabaseUnavailableError,
  type Deadline,
  DeadlinePassedError,
  type Parameters,
  type Statement,
} from './lane.ts';

/** Runs a statement and resolves to its rows. */
export type Run = <Row>(statement: Statement<Row>, parameters: Parameters) => Promise<Row>;

/** Postgres, as a few single-connection lanes that pipeline; the least busy one is next. */
export class Database {
  readonly #lanes: Lane[];

  constructor(url: string, options: { lanes: number; statementTimeoutMs: number }) {
    this.#lanes = Array.from({ length: options.lanes }, () => new Lane(url, options.statementTimeoutMs));
  }

  /** Rejects with DatabaseUnavailableError when there is no answer by the deadline. */
  async run<Row>(statement: Statement<Row>, parameters: Parameters, deadline: Deadline): Promise<Row> {
    return this.#nextLane().run(statement, parameters, deadline);
  }

  /** `run` for one call: every statement ends by the call's deadline. */
  within(deadline: Deadline): Run {
    return (statement, parameters) => this.run(statement, parameters, deadline);
  }

  /** Resolves when Postgres answers, rejects when it does not by the deadline. */
  async ping(deadline: Deadline): Promise<void> {
    await this.run(selectOne, {}, deadline);
  }

  async close(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.close()));
  }

  #nextLane(): Lane {
    let next: Lane | undefined;
    for (const lane of this.#lanes) {
      if ((!next || lane.pending < next.pending) && !lane.isResting) next = lane;
    }
    if (!next) throw new DatabaseUnavailableError('every connection has just failed');
    return next;
  }
}

const selectOne: Statement<unknown> = (db) => db.select({ one: sql`1` }).from(sql`(select) as nothing`).prepare('ping');
