import { createLateError, DatabaseUnavailableError, sqlStateOf } from './errors.ts';
import type { PipelinedConnection } from './pipelined-connection.ts';
import { LEASE_MS, type PrimaryFinder } from './primary-finder.ts';
import type { Deadline } from './statement.ts';
import { statement } from './template.ts';

/** How often an empty transaction is committed. */
const RENEWAL_INTERVAL_MS = 250;

/** While a commit waits for longer, nothing counts as readable or writable: the lease is about to end. */
const STALLED_MS = LEASE_MS - RENEWAL_INTERVAL_MS;

interface Waiting {
  /** A commit has to begin after this instant. */
  readonly since: number;
  readonly deadline: Deadline;
  resolve(): void;
  reject(error: Error): void;
}

/**
 * Shows that answers do not come from an old primary. A synchronous standby that confirms a commit has not been promoted.
 * A process that finds a new primary sends it nothing for longer than a lease. So rows that arrive within a lease after a
 * confirmed commit has begun lack no change of another process. With asynchronous replication a lease shows only that
 * Postgres answers.
 */
export class PrimaryLease {
  /** For the lease alone, so that no other statement delays it. */
  readonly connection: PipelinedConnection;
  readonly #primary: PrimaryFinder;
  /** When the last commit began that Postgres has confirmed. */
  #confirmedAt = Number.NEGATIVE_INFINITY;
  #nextAt = 0;
  #isRenewing = false;
  /** When the commit began that has not been answered. */
  #sentAt = Number.POSITIVE_INFINITY;
  #waiting: Waiting[] = [];

  constructor(connection: PipelinedConnection, primary: PrimaryFinder) {
    this.connection = connection;
    this.#primary = primary;
  }

  /**
   * Returns what Postgres has answered, rows or an error, once there is a lease. A statement that `mayWrite` and finds
   * nothing waits for a later commit: its caller may rely on the absence, such as that of a session to be revoked.
   *
   * @throws DatabaseUnavailableError
   */
  async guard<Rows>(answer: Promise<Rows>, { mayWrite, deadline }: { mayWrite: boolean; deadline: Deadline }) {
    const hasFound = await answer.then(
      (rows) => !Array.isArray(rows) || rows.length > 0,
      (error) => {
        if (error instanceof DatabaseUnavailableError) throw error;
        return true;
      },
    );
    const now = performance.now();
    await this.#confirm(mayWrite && !hasFound ? now : now - LEASE_MS, deadline);
    return answer;
  }

  /** Resolves when there is a lease. @throws DatabaseUnavailableError when commits have waited for long */
  async require(deadline: Deadline): Promise<void> {
    await this.#confirm(performance.now() - LEASE_MS, deadline);
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

  async #confirm(since: number, deadline: Deadline): Promise<void> {
    if (this.#confirmedAt > since) return;
    const now = performance.now();
    // Where commits do not wait, the next one comes at once.
    if (this.#confirmedAt > now - LEASE_MS) this.#nextAt = now;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ since, deadline, resolve, reject });
    this.#settle();
    await promise;
  }

  async #renew(): Promise<void> {
    this.#isRenewing = true;
    try {
      // The wait for a primary is no part of the commit.
      await this.#primary.find();
      this.#nextAt = performance.now() + RENEWAL_INTERVAL_MS;
      this.#confirmedAt = await this.#commit();
    } catch {
      // Without a primary there is no lease.
      this.#nextAt = performance.now() + RENEWAL_INTERVAL_MS;
    }
    this.#isRenewing = false;
    this.#settle();
  }

  /** Commits, and returns when that began. */
  async #commit(): Promise<number> {
    const sentAt = performance.now();
    this.#sentAt = sentAt;
    try {
      // No deadline: a connection that is given up while its commit waits leaves a backend behind.
      await this.connection.run({ statement: commitNothing, parameters: {}, deadline: Number.POSITIVE_INFINITY });
      return sentAt;
    } catch (error) {
      if (!isUnsupported(error)) throw error;
      this.#nextAt = Number.POSITIVE_INFINITY;
      return Number.POSITIVE_INFINITY;
    } finally {
      this.#sentAt = Number.POSITIVE_INFINITY;
    }
  }

  #settle(): void {
    if (this.#waiting.length === 0) return;
    const now = performance.now();
    const isStalled = now - this.#sentAt > STALLED_MS;
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

/** A database that is no plain Postgres may lack the function. It has no lease. */
function isUnsupported(error: unknown): boolean {
  return /^(0A000|42501|42883)$/.test(sqlStateOf(error));
}

/** Writes a message to the WAL that nobody reads, which needs no table and no privilege. */
const commitNothing = statement('commit_nothing')`select pg_logical_emit_message(true, 'usher', '')`;
