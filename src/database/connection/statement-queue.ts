import { createLateError, DatabaseUnavailableError } from '../sql/errors.ts';
import type { Receiver, StatementExecution } from '../sql/statement.ts';

type StartStatement = (execution: StatementExecution<unknown>, receiver: Receiver<unknown>) => void;
type Matches = (execution: StatementExecution<unknown>) => boolean;

interface WaitingStatement {
  readonly execution: StatementExecution<unknown>;
  readonly receiver: Receiver<unknown>;
}

/**
 * Statements that wait for a connection. Applications are served round robin: however many statements an application
 * has, only one of them starts before the next application's. Statements of one application start in the order of their
 * arrival.
 */
export class StatementQueue {
  /** By application ID. The first application is served next. */
  readonly #waiting = new Map<unknown, WaitingStatement[]>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** The statement that starts next. */
  get first(): StatementExecution<unknown> | undefined {
    const [first] = this.#waiting.values();
    return first?.[0]?.execution;
  }

  count(matches: Matches): number {
    let count = 0;
    for (const waiting of this.#waiting.values()) for (const { execution } of waiting) if (matches(execution)) count++;
    return count;
  }

  /** Keeps both until `startFirst` starts the statement. Rejects if that is late, or `rejectAll` is called. */
  add<Rows>(execution: StatementExecution<Rows>, receiver: Receiver<Rows>): void {
    // The cast is safe: whoever starts the statement passes its own rows on.
    const added: WaitingStatement = { execution, receiver: receiver as Receiver<unknown> };
    const { applicationId } = execution.parameters;
    const waiting = this.#waiting.get(applicationId);
    if (waiting) waiting.push(added);
    else this.#waiting.set(applicationId, [added]);
    this.#length++;
  }

  /**
   * Removes the first statement that matches. Starts it, or rejects it if it is late. Returns false if none matches.
   */
  startFirst(start: StartStatement, matches: Matches = () => true): boolean {
    const first = this.#takeFirst(matches);
    if (!first) return false;
    const { execution, receiver } = first;
    if (execution.deadline <= performance.now()) receiver.reject(createLateError());
    else start(execution, receiver);
    return true;
  }

  rejectLate(now: number): void {
    for (const [applicationId, waiting] of this.#waiting) {
      const late = waiting.filter(({ execution }) => execution.deadline <= now);
      if (late.length === 0) continue;
      const others = waiting.filter(({ execution }) => execution.deadline > now);
      this.#keep(applicationId, others);
      this.#length -= late.length;
      for (const { receiver } of late) receiver.reject(createLateError());
    }
  }

  rejectAll(reason: string): void {
    const all = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    this.#length = 0;
    for (const { receiver } of all) receiver.reject(new DatabaseUnavailableError(reason));
  }

  #takeFirst(matches: Matches): WaitingStatement | undefined {
    for (const [applicationId, waiting] of this.#waiting) {
      const index = waiting.findIndex(({ execution }) => matches(execution));
      if (index === -1) continue;
      const [first] = waiting.splice(index, 1);
      this.#length--;
      // Re-inserting moves it to the end: round robin.
      this.#waiting.delete(applicationId);
      this.#keep(applicationId, waiting);
      return first;
    }
    return undefined;
  }

  #keep(applicationId: unknown, waiting: WaitingStatement[]): void {
    if (waiting.length > 0) this.#waiting.set(applicationId, waiting);
    else this.#waiting.delete(applicationId);
  }
}
