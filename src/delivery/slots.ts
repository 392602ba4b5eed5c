/**
 * Concurrency limits: quick, slow and failing endpoints have separate budgets. So endpoints that hang do not delay
 * attempts to quick ones, however many hang.
 */

/** `quick`: its last batch was answered within a second. `failing`: its last batch failed. `unproven`: slow or new. */
export type EndpointKind = 'quick' | 'unproven' | 'failing';

/** Slow attempts per slot. They cost a socket, and hardly any work. */
const SLOW_PER_SLOT = 4;
/** Failing endpoints take at most this share of the slow attempts. */
const FAILING_SHARE = 1 / 4;
/** One batch takes at most this share of the slots. */
const BATCH_SHARE = 1 / 2;
/** Endpoints with slow attempts share this part of the limit. The rest is for first attempts to other endpoints. */
const SHARED_SLOW = 1 / 4;

export interface BatchSlots {
  readonly count: number;
  keep(count: number): void;
  end(): void;
  /** Moves the attempts in flight to the budget of slow ones. */
  slowDown(): void;
  /** Whether the endpoint may have another slow attempt. */
  hasRoom(): boolean;
}

/** Counts attempts that are or may become slow separately from quick ones. */
export class Slots {
  readonly #size: number;
  readonly #maxSlow: number;
  #quick = 0;
  #slow = 0;
  #failing = 0;
  readonly #slowByWebhook = new Map<string, number>();

  constructor(size: number) {
    this.#size = size;
    this.#maxSlow = size * SLOW_PER_SLOT;
  }

  /** Returns how many attempts may start to endpoints of this kind. */
  countFree(kind: EndpointKind): number {
    const slow = this.#maxSlow - this.#slow;
    const free = {
      // If many quick endpoints become slow at once, the slow attempts above their limit take quick slots.
      quick: this.#size - this.#quick + Math.min(0, slow),
      unproven: slow,
      failing: Math.min(slow, Math.ceil(this.#maxSlow * FAILING_SHARE) - this.#failing),
    };
    return Math.max(0, free[kind]);
  }

  /** Takes slots for a batch of the queue: at least one, so ask `countFree` first. */
  take({ kind, webhookId, batchSize }: { kind: EndpointKind; webhookId: string; batchSize: number }): BatchSlots {
    const limits = { quick: this.#size * BATCH_SHARE, unproven: this.#slowLeft(webhookId), failing: 1 };
    const count = Math.max(1, Math.floor(Math.min(batchSize, this.countFree(kind), limits[kind])));
    let held = 0;
    let isSlow = kind !== 'quick';
    const add = (change: number) => {
      held += change;
      if (kind === 'failing') this.#failing += change;
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
    const slow = this.#slowByWebhook.get(webhookId) ?? 0;
    const endpoints = this.#slowByWebhook.size + (slow > 0 ? 0 : 1);
    return (this.#maxSlow * SHARED_SLOW) / endpoints - slow;
  }

  #addSlow(webhookId: string, change: number): void {
    this.#slow += change;
    const slow = (this.#slowByWebhook.get(webhookId) ?? 0) + change;
    if (slow === 0) this.#slowByWebhook.delete(webhookId);
    else this.#slowByWebhook.set(webhookId, slow);
  }
}
