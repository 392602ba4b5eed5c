import { type Deadline, DeadlinePassedError, type PlaceholderValues, type Statement } from './connection.ts';
import { LockIsolation } from './lock-isolation.ts';
import {
  DatabaseUnavailableError,
  MAX_PENDING,
  PipelinedConnection,
  type PipelinedConnectionOptions,
  ReconnectLimiter,
  TICK_MS,
} from './pipelined-connection.ts';

export { type Db, type Deadline, DeadlinePassedError, type PlaceholderValues, type Statement } from './connection.ts';
export { DatabaseUnavailableError } from './pipelined-connection.ts';

/** Runs a statement and resolves to its rows. */
export type Run = <Rows>(statement: Statement<Rows>, parameters: PlaceholderValues) => Promise<Rows>;

/** Postgres, as a few single-connection lanes that pipeline; the least busy one is next. */
export class Database {
  readonly #lanes: PipelinedConnection[];
  readonly #sidings: LockIsolation;
  readonly #timer: NodeJS.Timeout;

  constructor(url: string, { lanes, statementTimeoutMs }: { lanes: number; statementTimeoutMs: number }) {
    const options: PipelinedConnectionOptions = { statementTimeoutMs, recovery: new ReconnectLimiter() };
    this.#lanes = Array.from({ length: lanes }, () => new PipelinedConnection(url, options));
    this.#sidings = new LockIsolation(url, options, (lane) => {
      this.#lanes[this.#lanes.indexOf(lane)] = new PipelinedConnection(url, options);
    });
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  /** Rejects with DatabaseUnavailableError when there is no answer by the deadline. */
  async run<Rows>(statement: Statement<Rows>, parameters: PlaceholderValues, deadline: Deadline): Promise<Rows> {
    // Nobody waits for it: it must not take effect.
    if (performance.now() >= deadline)
      throw new DatabaseUnavailableError(new DeadlinePassedError('There is no time left'));
    const isHeld = this.#sidings.has(statement);
    return (isHeld ? this.#sidings : this.#nextLane()).run(statement, parameters, deadline);
  }

  /** `run` for one call: every statement ends by the call's deadline. */
  within(deadline: Deadline): Run {
    return (statement, parameters) => this.run(statement, parameters, deadline);
  }

  /** Resolves when Postgres answers, rejects when it does not by the deadline. */
  async ping(deadline: Deadline): Promise<void> {
    await this.#sidings.ping(deadline);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#lanes, this.#sidings].map((part) => part.close()));
    clearInterval(this.#timer);
  }

  #nextLane(): PipelinedConnection {
    let next: PipelinedConnection | undefined;
    for (const lane of this.#lanes) {
      if ((!next || lane.pending < next.pending) && !lane.isBackingOff) next = lane;
    }
    if (!next) throw new DatabaseUnavailableError('Every connection has just failed');
    if (next.pending >= MAX_PENDING) throw new DatabaseUnavailableError('Too many statements wait');
    return next;
  }

  #tick(): void {
    const now = performance.now();
    for (const lane of this.#lanes) lane.tick(now);
    this.#sidings.tick(now, this.#lanes);
  }
}
