/** Tells the watchers of a process which feeds have new messages: one poll a second for all of them. */

import type { Database } from '../../database/pool/database.ts';
import { messageFeeds } from '../../database/schema/delivery-schema.ts';
import { p, statement, t } from '../../database/sql/template.ts';
import { ServiceError } from '../core/errors.ts';
import type { FeedCursor } from './feed-cursor.ts';

/** How often messages that other processes have fanned out are looked for. */
const POLL_MS = 1_000;
/** After a poll that has found some: more are likely to follow. */
const BUSY_POLL_MS = 250;
/** The shortest time between two polls: many messages of this process cause one. */
const MIN_POLL_MS = 50;
const MAX_PER_APPLICATION = 20;
const MAX_PER_PROCESS = 200;

interface FeedEnd {
  readonly applicationId: string;
  readonly epoch: string;
  readonly end: string;
}

interface Watched {
  count: number;
  /** The end of the feed as of the last poll: null if it is off, undefined before the first poll. */
  end: { readonly epoch: string; readonly end: number } | null | undefined;
  /** Called when the end has changed. */
  readonly waiting: Set<() => void>;
  /** How often the watchers were told to look at once. */
  refreshes: number;
}

export class MessageFeeds {
  readonly #database: Database;
  readonly #timeoutMs: number;
  readonly #watched = new Map<string, Watched>();
  #count = 0;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  #lastPollAt = 0;
  #isPolling = false;

  /** @param timeoutMs of a poll */
  constructor(database: Database, timeoutMs: number) {
    this.#database = database;
    this.#timeoutMs = timeoutMs;
  }

  /** Counts a watcher until it is disposed. @throws ServiceError `Too many open streams` */
  watch(applicationId: string): Watcher {
    const watched: Watched = this.#watched.get(applicationId) ?? {
      count: 0,
      end: undefined,
      waiting: new Set(),
      refreshes: 0,
    };
    if (watched.count >= MAX_PER_APPLICATION || this.#count >= MAX_PER_PROCESS)
      throw new ServiceError('TOO_MANY_STREAMS');
    this.#watched.set(applicationId, watched);
    watched.count++;
    this.#count++;
    this.#schedule(POLL_MS);
    return new Watcher(watched, () => {
      watched.count--;
      this.#count--;
      if (watched.count === 0) this.#watched.delete(applicationId);
      if (this.#count === 0) this.#stop();
    });
  }

  /** Looks for new messages at once. */
  readonly wake = (applicationId: string): void => {
    if (this.#watched.has(applicationId)) this.#schedule(MIN_POLL_MS - (performance.now() - this.#lastPollAt));
  };

  /** Makes every stream check its key and send its cursor at once. */
  readonly refresh = (): void => {
    for (const watched of this.#watched.values()) {
      watched.refreshes++;
      for (const wake of watched.waiting) wake();
    }
  };

  /** Keeps an earlier poll: during a poll, messages may come that it does not see. */
  #schedule(ms: number): void {
    const dueAt = performance.now() + Math.max(0, ms);
    // Equivalent: comparison: one at the same time takes its place
    if (this.#dueAt <= dueAt) return;
    this.#stop();
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => this.#poll(), Math.max(0, ms)).unref();
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#dueAt = Number.POSITIVE_INFINITY;
  }

  #readEnds(applicationIds: readonly string[]) {
    return this.#database.run(selectEnds, { applicationIds }, performance.now() + this.#timeoutMs);
  }

  async #poll(): Promise<void> {
    this.#stop();
    if (this.#isPolling) return this.#schedule(MIN_POLL_MS);
    this.#isPolling = true;
    this.#lastPollAt = performance.now();
    const applicationIds = [...this.#watched.keys()];
    // If Postgres does not answer, the watchers wait for the next poll.
    const rows = await this.#readEnds(applicationIds).catch(() => undefined);
    this.#isPolling = false;
    const hasChanged = rows !== undefined && this.#update(applicationIds, rows);
    if (this.#count > 0) this.#schedule(hasChanged ? BUSY_POLL_MS : POLL_MS);
  }

  /** Wakes the watchers of the feeds that have changed. Returns whether there are any. */
  #update(applicationIds: readonly string[], rows: readonly FeedEnd[]): boolean {
    const ends = new Map(rows.map(({ applicationId, epoch, end }) => [applicationId, { epoch, end: Number(end) }]));
    let hasChanged = false;
    for (const applicationId of applicationIds) {
      const watched = this.#watched.get(applicationId);
      const end = ends.get(applicationId) ?? null;
      if (!watched) continue;
      const isKnown = watched.end !== undefined;
      if (isKnown && watched.end?.end === end?.end && watched.end?.epoch === end?.epoch) continue;
      watched.end = end;
      hasChanged = true;
      for (const wake of watched.waiting) wake();
    }
    return hasChanged;
  }
}

export class Watcher implements Disposable {
  readonly #watched: Watched;
  readonly #dispose: () => void;
  #refreshes: number;

  constructor(watched: Watched, dispose: () => void) {
    this.#watched = watched;
    this.#dispose = dispose;
    this.#refreshes = watched.refreshes;
  }

  /** Returns whether `refresh` was called since the last time. */
  takeRefresh(): boolean {
    const isNew = this.#refreshes !== this.#watched.refreshes;
    this.#refreshes = this.#watched.refreshes;
    return isNew;
  }

  /** Resolves when the feed goes on after the cursor or is off, after `ms`, or when the signal is aborted. */
  async waitForMore(cursor: FeedCursor, ms: number, signal: AbortSignal): Promise<void> {
    const { waiting } = this.#watched;
    if (signal.aborted || this.hasMore(cursor)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = () => resolve();
    const timer = setTimeout(stop, ms);
    waiting.add(stop);
    signal.addEventListener('abort', stop);
    await promise;
    signal.removeEventListener('abort', stop);
    waiting.delete(stop);
    clearTimeout(timer);
  }

  /** Whether the feed goes on after the cursor, or is off, as of the last poll. */
  hasMore({ epoch, position }: FeedCursor): boolean {
    const { end } = this.#watched;
    return end === null || (end !== undefined && (end.epoch !== epoch || end.end > position));
  }

  [Symbol.dispose](): void {
    this.#dispose();
  }
}

const { applicationId, epoch } = messageFeeds;

/** Where the feeds of applications end. */
export const selectEnds = statement('select_feed_ends', { applicationId, epoch, end: t.bigint })`
  select application_id, epoch, next_position - 1 as end from message_feeds
  where application_id = any(${p.uuids('applicationIds')}) and is_active`;
