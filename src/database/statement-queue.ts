import { DatabaseUnavailableError, DeadlinePassedError } from './errors.ts';
import type { StatementCall } from './statement.ts';

type RunCall = <Rows>(call: StatementCall<Rows>) => Promise<Rows>;
type Matches = (call: StatementCall<unknown>) => boolean;

interface Waiting {
  readonly call: StatementCall<unknown>;
  start(run: RunCall): void;
  reject(error: Error): void;
}

/** Statements that wait for a connection, oldest first. */
export class StatementQueue {
  #waiting: Waiting[] = [];

  get length(): number {
    return this.#waiting.length;
  }

  /** The oldest statement. */
  get first(): StatementCall<unknown> | undefined {
    return this.#waiting[0]?.call;
  }

  count(matches: Matches): number {
    return this.#waiting.reduce((count, { call }) => (matches(call) ? count + 1 : count), 0);
  }

  /** Resolves to the rows after `startFirst` has started the statement. Rejects when it is late or rejected before. */
  add<Rows>(call: StatementCall<Rows>): Promise<Rows> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call, reject, start: (run) => run(call).then(resolve, reject) });
    });
  }

  /** Removes the oldest statement that matches and starts it unless it is late. Returns whether there was one. */
  startFirst(run: RunCall, matches: Matches = () => true): boolean {
    const index = this.#waiting.findIndex(({ call }) => matches(call));
    if (index === -1) return false;
    const [waiting] = index === 0 ? [this.#waiting.shift()] : this.#waiting.splice(index, 1);
    if (!waiting || waiting.call.deadline <= performance.now()) waiting?.reject(createLateError());
    else waiting.start(run);
    return true;
  }

  /** Rejects statements whose deadline has passed. */
  rejectLate(now: number): void {
    const late = this.#waiting.filter(({ call }) => call.deadline <= now);
    if (late.length > 0) this.#waiting = this.#waiting.filter(({ call }) => call.deadline > now);
    for (const { reject } of late) reject(createLateError());
  }

  rejectAll(reason: string): void {
    for (const { reject } of this.#waiting.splice(0)) reject(new DatabaseUnavailableError(reason));
  }
}

function createLateError(): Error {
  return new DatabaseUnavailableError(new DeadlinePassedError());
}
