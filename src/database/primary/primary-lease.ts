import type { PipelinedConnection } from '../connection/pipelined-connection.ts';
import { createLateError, DatabaseUnavailableError, sqlStateOf } from '../sql/errors.ts';
import type { Deadline, Receiver } from '../sql/statement.ts';
import { statement } from '../sql/template.ts';
import { LEASE_MS, type PrimaryFinder } from './primary-finder.ts';

/** How often an empty transaction is committed. */
const RENEWAL_INTERVAL_MS = 250;

/** While a commit waits for longer than this, answers are refused: the lease is about to end. */
const STALLED_MS = LEASE_MS - RENEWAL_INTERVAL_MS;

interface WaitingAnswer {
  /** Only a commit that has begun after this instant of `performance.now()` releases the answer. */
  readonly since: number;
  readonly deadline: Deadline;
  resolve(): void;
  reject(error: Error): void;
}

/**
 * Proves that answers do not come from an old primary. A synchronous standby that confirms a commit has not been
 * promoted before. A process that finds a new primary sends it nothing for longer than a lease. So if rows arrive
 * within a lease from the beginning of a confirmed commit, they include all changes by other processes. With
 * asynchronous replication a lease proves only that Postgres answers.
 */
export class PrimaryLease {
  /** Serves only the lease, so that no other statement delays its commits. */
  readonly connection: PipelinedConnection;
  readonly #primary: PrimaryFinder;
  readonly #onNoLeases: ((reason: unknown) => void) | undefined;
  /** When the last confirmed commit began, by `performance.now()`. Infinity if the database has no leases. */
  #confirmedAt = Number.NEGATIVE_INFINITY;
  #nextAt = 0;
  #isRenewing = false;
  #waiting: WaitingAnswer[] = [];

  /** @param onNoLeases called once, with the error, if the database has no leases */
  constructor(connection: PipelinedConnection, primary: PrimaryFinder, onNoLeases?: (reason: unknown) => void) {
    this.connection = connection;
    this.#primary = primary;
    this.#onNoLeases = onNoLeases;
  }

  /**
   * Returns a receiver that passes an answer of Postgres on, rows or an error, once there is a lease. If a statement that `mayWrite` returns no
   * rows, it waits for a commit that begins after the answer: its caller may rely on the absence, such as that of a
   * session to be revoked. Rejects with DatabaseUnavailableError if there is none.
   */
  guard<Rows>(
    { resolve, reject }: Receiver<Rows>,
    { mayWrite, deadline }: { mayWrite: boolean; deadline: Deadline },
  ): Receiver<Rows> {
    const pass = (hasFound: boolean, answer: () => void) => {
      const now = performance.now();
      this.#confirm({ since: mayWrite && !hasFound ? now : now - LEASE_MS, deadline, resolve: answer, reject });
    };
    return {
      resolve: (rows) => pass(!Array.isArray(rows) || rows.length > 0, () => resolve(rows)),
      reject: (error) => (error instanceof DatabaseUnavailableError ? reject(error) : pass(true, () => reject(error))),
    };
  }

  /**
   * Resolves once there is a lease.
   *
   * @throws DatabaseUnavailableError if commits wait for a standby, or at the deadline
   */
  require(deadline: Deadline): Promise<void> {
    return new Promise((resolve, reject) =>
      this.#confirm({ since: performance.now() - LEASE_MS, deadline, resolve, reject }),
    );
  }

  tick(now: number): void {
    this.connection.tick(now);
    if (!this.#isRenewing && now >= this.#nextAt) this.#renew();
    this.#settle();
  }

  async close(): Promise<void> {
    await this.connection.close();
    for (const { reject } of this.#waiting) reject(new DatabaseUnavailableError('The database is closed'));
  }

  #confirm(answer: WaitingAnswer): void {
    if (this.#confirmedAt > answer.since) {
      answer.resolve();
      return;
    }
    const now = performance.now();
    // While commits do not wait, the next one begins at the next tick.
    if (this.#confirmedAt > now - LEASE_MS) this.#nextAt = now;
    this.#waiting.push(answer);
    this.#settle();
  }

  async #renew(): Promise<void> {
    this.#isRenewing = true;
    try {
      // First, because the search for a primary must not count as time of the commit.
      await this.#primary.find();
      this.#nextAt = performance.now() + RENEWAL_INTERVAL_MS;
      this.#confirmedAt = await this.#commit();
    } catch {
      // The lease ends by itself if no later commit succeeds.
      this.#nextAt = performance.now() + RENEWAL_INTERVAL_MS;
    }
    this.#isRenewing = false;
    this.#settle();
  }

  /** Commits, and returns when the commit began. */
  async #commit(): Promise<number> {
    const sentAt = performance.now();
    try {
      // No deadline: if the connection were replaced while its commit waits, its backend in Postgres would remain.
      await this.connection.run({ statement: commitNothing, parameters: {}, deadline: Number.POSITIVE_INFINITY });
      return sentAt;
    } catch (error) {
      if (!isUnsupported(error)) throw error;
      this.#onNoLeases?.(error);
      this.#nextAt = Number.POSITIVE_INFINITY;
      return Number.POSITIVE_INFINITY;
    }
  }

  #settle(): void {
    if (this.#waiting.length === 0) return;
    const now = performance.now();
    const isStalled = this.connection.silentMs > STALLED_MS;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const each of waiting) {
      if (this.#confirmedAt > each.since) each.resolve();
      else if (isStalled) each.reject(new DatabaseUnavailableError('Commits wait for a standby'));
      else if (each.deadline <= now) each.reject(createLateError());
      else this.#waiting.push(each);
    }
  }
}

/** Returns whether the database lacks the function or its use, as forks of Postgres may. Then there are no leases. */
function isUnsupported(error: unknown): boolean {
  return /^(0A000|42501|42883)$/.test(sqlStateOf(error));
}

/** Writes a message to the WAL, so that the commit waits for standbys. It needs no table and no privilege. */
const commitNothing = statement('commit_nothing')`select pg_logical_emit_message(true, 'usher', '')`;
