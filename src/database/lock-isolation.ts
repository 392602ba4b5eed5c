/**
 * Keeps statements that wait for a lock out of the way of the others.
 *
 * A lane does one statement after the other, so one that waits for a lock holds up all that were
 * sent after it. A lane that Postgres says is held up so goes on a siding, and a new one takes its
 * place. Further statements of the kind that holds it up follow it there, to a limit; one that others of
 * another kind wait for, or nobody does, is cancelled, and so has no effect.
 */
import { sql } from 'drizzle-orm';
import type { Deadline, PlaceholderValues, Statement } from './connection.ts';
import {
  DatabaseUnavailableError,
  MAX_PENDING,
  PipelinedConnection,
  type PipelinedConnectionOptions,
} from './pipelined-connection.ts';

/** How many lanes may be on sidings at once; as many as there are lanes, where those are more. */
const MIN_CAPACITY = 8;

/** How many statements may be waited for on a siding; more are unavailable at once. */
const MAX_WAITING = 64;

/** How long Postgres may take to tell who waits. */
const LOOK_TIMEOUT_MS = 1_000;

export class LockIsolation {
  /** The kinds of statement that hold up a lane, with that lane. */
  readonly #held = new Map<Statement<unknown>, PipelinedConnection>();
  /** Connections that take nothing new, and are closed once they have answered everything. */
  readonly #leaving = new Set<PipelinedConnection>();
  /** Asks Postgres who waits, and whether it is there, past all that waits. Opened when first needed. */
  readonly #lookout: PipelinedConnection;
  readonly #relieve: (lane: PipelinedConnection) => void;
  #isLooking = false;

  /** `relieve` takes a lane out of service and puts a new one in its place. */
  constructor(url: string, options: PipelinedConnectionOptions, relieve: (lane: PipelinedConnection) => void) {
    this.#lookout = new PipelinedConnection(url, options);
    this.#relieve = relieve;
  }

  /** Whether statements of this kind are to `run` here. */
  has(statement: Statement<unknown>): boolean {
    return this.#held.has(statement);
  }

  async run<Rows>(statement: Statement<Rows>, parameters: PlaceholderValues, deadline: Deadline): Promise<Rows> {
    const lane = this.#held.get(statement);
    if (!lane || lane.waiting >= MAX_WAITING || lane.pending >= MAX_PENDING)
      throw new DatabaseUnavailableError('Too many wait for a lock');
    const rows = await lane.run(statement, parameters, deadline);
    // What it needs is free again.
    if (this.#held.get(statement) === lane) this.#dissolve(statement, lane);
    return rows;
  }

  /** Resolves when Postgres answers. No statement is in its way, and it is in the way of none. */
  async ping(deadline: Deadline): Promise<void> {
    await this.#lookout.run(selectOne, {}, deadline);
  }

  tick(now: number, lanes: readonly PipelinedConnection[]): void {
    this.#lookout.tick(now);
    for (const lane of [...this.#held.values(), ...this.#leaving]) lane.tick(now);
    for (const [statement, lane] of this.#held) if (lane.pending === 0) this.#dissolve(statement, lane);
    for (const lane of this.#leaving) if (lane.pending === 0) this.#close(lane);
    if (!this.#isLooking) this.#look(now, lanes);
  }

  async close(): Promise<void> {
    const lanes = [this.#lookout, ...this.#held.values(), ...this.#leaving];
    await Promise.all(lanes.map((lane) => lane.close()));
  }

  async #look(now: number, lanes: readonly PipelinedConnection[]): Promise<void> {
    const stuck = lanes.filter((lane) => lane.isStuck);
    const room = Math.max(0, Math.max(MIN_CAPACITY, lanes.length) - this.#held.size - this.#leaving.size);
    const toCancel = this.#toCancel(stuck, room);
    if (stuck.length === 0 && toCancel.length === 0) return;

    this.#isLooking = true;
    const seen = stuck.map((lane) => ({ lane, name: lane.name, inFlight: lane.inFlight }));
    for (const lane of toCancel) lane.markCancelling();
    const parameters = { names: namesOf([...stuck, ...toCancel]), toCancel: namesOf(toCancel) };
    try {
      const waiting = await this.#lookout.run(cancelAndSelectWaiting, parameters, now + LOOK_TIMEOUT_MS);
      for (const { lane, name, inFlight } of seen.slice(0, room)) {
        const isWaiting = waiting.some((row) => row.name === name);
        if (isWaiting && inFlight && lane.inFlight === inFlight) this.#setAside(lane, inFlight.statement);
      }
    } catch {
      // Postgres cannot tell now: it is asked again at the next tick.
    } finally {
      this.#isLooking = false;
    }
  }

  /** Connections in the way of other statements; with too little room for the stuck ones, all that are leaving. */
  #toCancel(stuck: readonly PipelinedConnection[], room: number): PipelinedConnection[] {
    const isCrowded = stuck.length > room;
    const blocked = [...this.#held.values(), ...stuck.slice(room)].filter((lane) => lane.isBlocked);
    return [...blocked, ...[...this.#leaving].filter((lane) => isCrowded || lane.isBlocked)];
  }

  #setAside(lane: PipelinedConnection, statement: Statement<unknown>): void {
    this.#relieve(lane);
    lane.retire();
    if (this.#held.has(statement)) this.#leaving.add(lane);
    else this.#held.set(statement, lane);
  }

  #dissolve(statement: Statement<unknown>, lane: PipelinedConnection): void {
    this.#held.delete(statement);
    this.#leaving.add(lane);
  }

  #close(lane: PipelinedConnection): void {
    this.#leaving.delete(lane);
    lane.close().catch(() => {});
  }
}

const selectOne: Statement<unknown> = (db) => db.select({ one: sql`1` }).from(sql`(select) as nothing`).prepare('ping');

function namesOf(lanes: readonly PipelinedConnection[]): string {
  return lanes.map(({ name }) => name).join();
}

/** Returns those of `names` that wait for a lock, having cancelled the statements of those of `toCancel` that do. */
const cancelAndSelectWaiting: Statement<{ name: string }[]> = (db) => {
  const isToCancel = sql`application_name = any(string_to_array(${sql.placeholder('toCancel')}::text, ','))`;
  return db
    .select({
      name: sql<string>`application_name`,
      isCancelled: sql`case when ${isToCancel} then pg_cancel_backend(pid) end`,
    })
    .from(sql`pg_stat_activity`)
    .where(
      sql`wait_event_type = 'Lock' and application_name = any(string_to_array(${sql.placeholder('names')}::text, ','))`,
    )
    .prepare('select_waiting');
};
