/**
 * Who may start how many attempts. Those of endpoints that answer quickly have slots of their own, so that no number of
 * endpoints that hang delays them.
 */

/** What is known of an endpoint: it has answered within a second; it has not, as no new one has; its attempts fail. */
export type Line = 'quick' | 'unproven' | 'failing';

/** How many slow attempts there may be for each slot. They cost a socket, and hardly any work. */
const SLOW_PER_SLOT = 4;
/** The most of the slow attempts that are to endpoints that fail. */
const FAILING_SHARE = 1 / 4;
/** One batch takes at most this share of the slots. */
const BATCH_SHARE = 1 / 2;
/** Slow endpoints share this much of the slow attempts. The rest is for the first attempts to others. */
const SHARED_SLOW = 1 / 4;

/** The slots of a batch. */
export interface BatchSlots {
  readonly count: number;
  /** Gives the slots back that the batch does not need. */
  keep(count: number): void;
  /** Tells that an attempt has ended. */
  end(): void;
  /** Tells that the attempts that have not ended are slow. */
  slowDown(): void;
  /** Whether the endpoint may have another slow attempt. */
  hasRoom(): boolean;
}

/** Counts attempts: slow ones, and those that may become slow, apart from the quick ones. */
export class Slots {
  readonly #size: number;
  readonly #maxSlow: number;
  #quick = 0;
  #slow = 0;
  #failing = 0;
  readonly #slowOf = new Map<string, number>();

  constructor(size: number) {
    this.#size = size;
    this.#maxSlow = size * SLOW_PER_SLOT;
  }

  /** Returns how many attempts may start for queues of the line. */
  countFree(line: Line): number {
    const slow = this.#maxSlow - this.#slow;
    // Quick endpoints may become slow all at once.
    if (line === 'quick') return Math.max(0, this.#size - this.#quick + Math.min(0, slow));
    const failing = Math.ceil(this.#maxSlow * FAILING_SHARE) - this.#failing;
    return Math.max(0, line === 'failing' ? Math.min(slow, failing) : slow);
  }

  /** Takes slots for a batch of the queue: at least one, so ask `countFree` first. */
  take({ line, webhookId, batchSize }: { line: Line; webhookId: string; batchSize: number }): BatchSlots {
    const limits = { quick: this.#size * BATCH_SHARE, unproven: this.#slowLeft(webhookId), failing: 1 };
    const count = Math.max(1, Math.floor(Math.min(batchSize, this.countFree(line), limits[line])));
    let held = 0;
    let isSlow = line !== 'quick';
    const add = (change: number) => {
      held += change;
      if (line === 'failing') this.#failing += change;
      if (isSlow) this.#addSlow(webhookId, change);
      else this.#quick += change;
    };
    add(count);
    return {
      count,
      keep: (needed) => add(needed - held),
      end: () => add(-1),
      slowDown: () => {
        const left = held;
        add(-left);
        isSlow = true;
        add(left);
      },
      hasRoom: () => this.#slowLeft(webhookId) > 0,
    };
  }

  /** Returns what is left of the endpoint's share: the more endpoints are slow, the fewer slow attempts each has. */
  #slowLeft(webhookId: string): number {
    const slow = this.#slowOf.get(webhookId) ?? 0;
    const endpoints = this.#slowOf.size + (slow > 0 ? 0 : 1);
    return (this.#maxSlow * SHARED_SLOW) / endpoints - slow;
  }

  #addSlow(webhookId: string, change: number): void {
    this.#slow += change;
    const slow = (this.#slowOf.get(webhookId) ?? 0) + change;
    if (slow === 0) this.#slowOf.delete(webhookId);
    else this.#slowOf.set(webhookId, slow);
  }
}
