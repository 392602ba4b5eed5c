import type { Database } from '../database/database.ts';
import { type Backlog, readBacklog } from '../delivery/backlog.ts';

/** How long an answer counts. */
const VALID_MS = 15_000;
const TIMEOUT_MS = 1_000;

/** Reads the backlog of deliveries, at most once in 15 seconds. */
export class BacklogReader {
  readonly #database: Database;
  #readAt = Number.NEGATIVE_INFINITY;
  #backlog: Promise<Backlog | undefined> = Promise.resolve(undefined);

  constructor(database: Database) {
    this.#database = database;
  }

  /** Resolves to undefined if Postgres does not answer. */
  read(): Promise<Backlog | undefined> {
    const now = performance.now();
    if (now - this.#readAt < VALID_MS) return this.#backlog;
    this.#readAt = now;
    this.#backlog = readBacklog(this.#database.within(now + TIMEOUT_MS)).catch(() => undefined);
    return this.#backlog;
  }
}
