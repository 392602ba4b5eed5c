import { sql } from 'drizzle-orm';
import { DatabaseUnavailableError, DeadlinePassedError } from './errors.ts';
import type { PipelinedConnection } from './pipelined-connection.ts';
import { LEASE_MS, type PrimaryFinder } from './primary-finder.ts';
import type { Deadline, Statement } from './statement.ts';

/** How often an empty transaction is committed. */
const RENEWAL_INTERVAL_MS = 250;

/** How long a commit may wait until nothing counts as readable and writable: by then the lease ends. */
const STALLED_MS = LEASE_MS - RENEWAL_INTERVAL_MS;

interface Waiting {
  readonly deadline: Deadline;
  resolve(): void;
  reject(error: Error): void;
}

/**
 * Shows that answers are not those of an old primary. While a synchronous standby confirms a commit, no standby has been
 * promoted; and a process that finds a new primary sends it nothing for longer than a lease. So no other process can have
 * changed anything that an answer does not know, if its rows have come within a lease of the start of such a commit.
 * With asynchronous replication a lease shows no more than that Postgres answers.
 */
export class PrimaryLease {
  /** For the lease alone, so that no other statement delays it. */
  readonly connection: PipelinedConnection;
  readonly #primary: PrimaryFinder;
  #endsAt = Number.NEGATIVE_INFINITY;
  #nextAt = 0;
  #isRenewing = false;
  /** When the commit began that has not been answered. */
  #sentAt = Number.POSITIVE_INFINITY;
  #waiting: Waiting[] = [];

  constructor(connection: PipelinedConnection, primary: PrimaryFinder) {
    this.connection = connection;
    this.#primary = primary;
  }

  /** Returns what Postgres has answered, be it an error, once there is a lease. @throws DatabaseUnavailableError */
  async guard<Rows>(answer: Promise<Rows>, deadline: Deadline): Promise<Rows> {
    const isOfPostgres = await answer.then(
      () => true,
      (error) => !(error instanceof DatabaseUnavailableError),
    );
    if (isOfPostgres) await this.confirm(deadline);
    return answer;
  }

  /**
   * Resolves when there is a lease.
   *
   * @throws DatabaseUnavailableError when there is none by the deadline, or commits have waited for long
   */
  async confirm(deadline: Deadline): Promise<void> {
    if (performance.now() < this.#endsAt) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ deadline, resolve, reject });
    this.#settle();
    await promise;
  }

  tick(now: number): void {
    this.connection.tick(now);
    if (!this.#isRenewing && now >= this.#nextAt) this.#renew();
    this.#settle();
  }

  async #renew(): Promise<void> {
    this.#isRenewing = true;
    try {
      // The wait for a primary is no part of the commit.
      await this.#primary.find();
      this.#nextAt = performance.now() + RENEWAL_INTERVAL_MS;
      this.#endsAt = Math.max(this.#endsAt, await this.#commit());
    } catch {
      this.#nextAt = performance.now() + RENEWAL_INTERVAL_MS;
    }
    this.#isRenewing = false;
    this.#settle();
  }

  /** Returns when the lease ends. */
  async #commit(): Promise<number> {
    const sentAt = performance.now();
    this.#sentAt = sentAt;
    try {
      // No deadline: a connection that is given up while its commit waits leaves a backend behind.
      await this.connection.run({ statement: commitNothing, parameters: {}, deadline: Number.POSITIVE_INFINITY });
      return sentAt + LEASE_MS;
    } catch (error) {
      if (error instanceof DatabaseUnavailableError) throw error;
      // A database that has no such function has no such lease.
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
      if (now < this.#endsAt) each.resolve();
      else if (isStalled) each.reject(new DatabaseUnavailableError('Commits wait for a standby'));
      else if (each.deadline <= now) each.reject(new DatabaseUnavailableError(new DeadlinePassedError()));
      else this.#waiting.push(each);
    }
  }
}

/** Writes a message to the WAL that nobody reads, which needs no table and no privilege. */
const commitNothing: Statement<unknown> = (db) =>
  db
    .select({ lsn: sql`pg_logical_emit_message(true, 'usher', '')` })
    .from(sql`(select) as nothing`)
    .prepare('commit_nothing');
