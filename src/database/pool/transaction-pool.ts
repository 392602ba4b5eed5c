import type { Connection } from '../connection/connection.ts';
import { StatementQueue } from '../connection/statement-queue.ts';
import {
  CallerGoneError,
  createLateError,
  DatabaseUnavailableError,
  isConnectionFault,
  isTemporaryFailure,
} from '../sql/errors.ts';
import type { Deadline, PlaceholderValues, Receiver, Statement, StatementExecution } from '../sql/statement.ts';

/** How many transactions run at the same time. */
const CAPACITY = 8;
/** How many of one application may wait. Further ones fail at once with DatabaseUnavailableError. */
const MAX_WAITING = 500;
/** How long after its deadline a transaction may take to end. */
const END_MS = 1_000;
/** How long a connection stays open that nobody uses. */
const IDLE_MS = 10_000;

/** Runs one statement of a transaction. */
export type RunInTransaction = <Rows>(execution: StatementExecution<Rows>) => Promise<Rows>;

export interface TransactionOptions {
  readonly applicationId: string;
  readonly deadline: Deadline;
  /** What it locks first. Transactions with the same lock follow one another here, so only one waits in Postgres. */
  readonly lock?: string | undefined;
  /** Asked before it begins, and while it waits. */
  readonly isGone?: (() => boolean) | undefined;
}

interface Slot {
  readonly connection: Connection;
  /** When its connection is closed, in milliseconds of `performance.now()`: because nobody uses it, or it hangs. */
  endsAt: number;
  hasFailed?: boolean;
}

/**
 * Transactions of several statements, each on a connection of its own. Applications take turns, and none of them takes
 * the last connection: its transactions may wait for locks for long.
 */
export class TransactionPool {
  readonly #open: () => Connection;
  readonly #queue = new StatementQueue();
  /** With the parameters of the execution that waited for the slot. */
  readonly #busy = new Map<Slot, PlaceholderValues>();
  #idle: Slot[] = [];

  constructor(open: () => Connection) {
    this.#open = open;
  }

  /** @throws DatabaseUnavailableError, also if it is not known whether the transaction was committed */
  async run<Result>(
    { applicationId, deadline, lock, isGone }: TransactionOptions,
    work: (run: RunInTransaction) => Promise<Result>,
  ): Promise<Result> {
    const isOfApplication = ({ parameters }: StatementExecution<unknown>) => parameters.applicationId === applicationId;
    if (this.#queue.count(isOfApplication) >= MAX_WAITING)
      throw new DatabaseUnavailableError('Too many transactions wait');
    const mayStart = () => !isGone?.();
    const { promise: turn, resolve, reject } = Promise.withResolvers<Slot>();
    // The statement only waits for its turn.
    const execution = { statement: waitForTurn, parameters: { applicationId, lock }, deadline, mayStart };
    this.#queue.add(execution, { resolve, reject });
    this.#startWaiting();
    const slot = await turn;
    const { connection } = slot;
    slot.endsAt = deadline + END_MS;
    try {
      const remainingMs = Math.max(1, Math.ceil(deadline - performance.now()));
      return await connection.transact(remainingMs, async () => {
        const result = await work((execution) => connection.run(execution));
        // What nobody waits for must not take effect.
        if (performance.now() >= deadline) throw createLateError();
        return result;
      });
    } catch (cause) {
      slot.hasFailed = isConnectionFault(cause);
      if (!slot.hasFailed && !isTemporaryFailure(cause)) throw cause;
      throw new DatabaseUnavailableError(cause as Error);
    } finally {
      this.#release(slot);
    }
  }

  /** How many transactions run, and how many wait for their turn. */
  get load() {
    return { inFlight: this.#busy.size, waiting: this.#queue.length };
  }

  tick(now: number): void {
    this.#queue.rejectLate(now);
    this.#closeUnusable(now);
    // Those whose callers have left make room for others.
    this.#startWaiting();
  }

  async close(): Promise<void> {
    this.#queue.rejectAll('The database is closed');
    await Promise.all([...this.#busy.keys(), ...this.#idle].map(({ connection }) => connection.close()));
  }

  #closeUnusable(now: number): void {
    for (const { connection, endsAt } of this.#busy.keys()) {
      connection.abandonLate(now);
      if (now >= endsAt || connection.isLost) connection.giveUp();
    }
    const isUsable = ({ connection, endsAt }: Slot) => now < endsAt && !connection.isLost && !connection.isOutdated;
    for (const slot of this.#idle) if (!isUsable(slot)) slot.connection.giveUp();
    this.#idle = this.#idle.filter(isUsable);
  }

  #startWaiting(): void {
    const start = ({ parameters, mayStart }: StatementExecution<unknown>, { resolve, reject }: Receiver<unknown>) => {
      if (mayStart?.()) resolve(this.#take(parameters));
      else reject(new DatabaseUnavailableError(new CallerGoneError()));
    };
    while (this.#queue.startFirst(start, ({ parameters, mayStart }) => this.#hasSlot(parameters) || !mayStart?.()));
  }

  /** Dynamic thresholds, as in `LockIsolation`: an application may use as many connections as are free. */
  #hasSlot({ applicationId, lock }: PlaceholderValues): boolean {
    const running = [...this.#busy.values()];
    if (lock !== undefined && running.some((other) => other.lock === lock)) return false;
    const ofApplication = running.filter((other) => other.applicationId === applicationId);
    return ofApplication.length < CAPACITY - running.length;
  }

  #take(parameters: PlaceholderValues): Slot {
    this.#closeUnusable(performance.now());
    const slot = this.#idle.pop() ?? { connection: this.#open(), endsAt: Number.POSITIVE_INFINITY };
    this.#busy.set(slot, parameters);
    return slot;
  }

  #release(slot: Slot): void {
    this.#busy.delete(slot);
    slot.endsAt = performance.now() + IDLE_MS;
    if (slot.hasFailed || slot.connection.isLost) slot.connection.giveUp();
    else this.#idle.push(slot);
    this.#startWaiting();
  }
}

/** The statement of an execution that only waits in the queue. */
const waitForTurn: Statement<Slot> = () => {
  throw new Error('Nobody runs this statement');
};
