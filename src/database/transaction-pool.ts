import type { Connection } from './connection.ts';
import { createLateError, DatabaseUnavailableError, isConnectionFault, isTemporaryFailure } from './errors.ts';
import type { Deadline, Statement, StatementExecution } from './statement.ts';
import { StatementQueue } from './statement-queue.ts';

/** How many transactions run at the same time. */
const CAPACITY = 4;
/** How long after its deadline a transaction may take to end. */
const END_MS = 1_000;
/** How long a connection stays open that nobody uses. */
const IDLE_MS = 10_000;

/** Runs one statement of a transaction. */
export type RunInTransaction = <Rows>(execution: StatementExecution<Rows>) => Promise<Rows>;

interface Slot {
  readonly connection: Connection;
  /** When its connection is closed, in milliseconds of `performance.now()`: because nobody uses it, or it hangs. */
  endsAt: number;
  hasFailed?: boolean;
}

/** Transactions of several statements, each on a connection of its own. Applications take turns. */
export class TransactionPool {
  readonly #open: () => Connection;
  readonly #queue = new StatementQueue();
  readonly #busy = new Set<Slot>();
  #idle: Slot[] = [];

  constructor(open: () => Connection) {
    this.#open = open;
  }

  /** @throws DatabaseUnavailableError, also if it is not known whether the transaction was committed */
  async run<Result>(
    { applicationId, deadline }: { readonly applicationId: string; readonly deadline: Deadline },
    work: (run: RunInTransaction) => Promise<Result>,
  ): Promise<Result> {
    // The statement only waits for its turn.
    const turn = this.#queue.add<Slot[]>({ statement: waitForTurn, parameters: { applicationId }, deadline });
    this.#startWaiting();
    const [slot] = await turn;
    if (!slot) throw createLateError();
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

  tick(now: number): void {
    this.#queue.rejectLate(now);
    for (const { connection, endsAt } of this.#busy) {
      connection.abandonLate(now);
      if (now >= endsAt || connection.isLost) connection.giveUp();
    }
    const isUsable = ({ connection, endsAt }: Slot) => now < endsAt && !connection.isLost && !connection.isOutdated;
    for (const slot of this.#idle) if (!isUsable(slot)) slot.connection.giveUp();
    this.#idle = this.#idle.filter(isUsable);
  }

  async close(): Promise<void> {
    this.#queue.rejectAll('The database is closed');
    await Promise.all([...this.#busy, ...this.#idle].map(({ connection }) => connection.close()));
  }

  #startWaiting(): void {
    while (this.#busy.size < CAPACITY) {
      // The cast is safe: `run` has added only this statement, with this type of rows.
      if (!this.#queue.startFirst(<Rows>() => Promise.resolve([this.#take()] as Rows))) return;
    }
  }

  #take(): Slot {
    this.tick(performance.now());
    const slot = this.#idle.pop() ?? { connection: this.#open(), endsAt: Number.POSITIVE_INFINITY };
    this.#busy.add(slot);
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
const waitForTurn: Statement<Slot[]> = () => {
  throw new Error('Nobody runs this statement');
};
