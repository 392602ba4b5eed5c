/**
 * Concurrency limits: quick, slow and failing endpoints have separate budgets. However many endpoints hang, attempts to
 * quick endpoints do not wait.
 */
import { Turns } from './turns.ts';

/** `quick`: its last batch was answered within a second. `failing`: its last batch failed. `unproven`: slow or new. */
export type EndpointKind = 'quick' | 'unproven' | 'failing';

/** Slow attempts per slot. A slow attempt takes a socket, but hardly any CPU time. */
const SLOW_PER_SLOT = 4;
/** Failing endpoints take at most this share of the slow attempts. */
const FAILING_SHARE = 1 / 4;
/** One batch takes at most this share of the slots. */
const BATCH_SHARE = 1 / 2;
/** An application whose quick attempts take this share of the slots begins no further batch. */
const APPLICATION_SHARE = 1 / 2;
/** Endpoints with slow attempts share this part of the limit. The rest is left for endpoints without slow attempts. */
const SHARED_SLOW = 1 / 4;

interface TakingQueue {
  readonly applicationId: string;
  readonly webhookId: string;
  readonly kind: EndpointKind;
  readonly batchSize: number;
}

export interface BatchSlots {
  readonly count: number;
  /** Ends the claim, and gives back all slots but `count`. */
  keep(count: number): void;
  /** Gives back the slot of an attempt that has ended. */
  end(): void;
  /** Moves the attempts in flight to the budget of slow attempts. */
  slowDown(): void;
  /** Whether the endpoint may have another slow attempt. */
  hasRoom(): boolean;
}

/** Counts attempts to quick endpoints separately from attempts that are or may become slow. */
export class Slots {
  readonly #size: number;
  readonly #maxSlow: number;
  readonly turns: Turns;
  #quick = 0;
  #slow = 0;
  #failing = 0;
  readonly #slowByWebhook = new Map<string, number>();

  constructor(size: number) {
    this.#size = size;
    this.#maxSlow = size * SLOW_PER_SLOT;
    this.turns = new Turns(size * APPLICATION_SHARE);
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

  /** Takes slots for a batch of the queue. It takes at least one, so check `countFree` first. */
  take({ applicationId, kind, webhookId, batchSize }: TakingQueue): BatchSlots {
    const endClaim = this.turns.beginClaim(applicationId);
    const limits = { quick: this.#size * BATCH_SHARE, unproven: this.#slowLeft(webhookId), failing: 1 };
    const count = Math.max(1, Math.floor(Math.min(batchSize, this.countFree(kind), limits[kind])));
    let held = 0;
    let isSlow = kind !== 'quick';
    const add = (change: number) => {
      held += change;
      if (kind === 'failing') this.#failing += change;
      if (isSlow) this.#addSlow(webhookId, change);
      else {
        this.#quick += change;
        this.turns.addAttempts(applicationId, change);
      }
    };
    add(count);
    return {
      count,
      keep: (needed) => {
        endClaim();
        add(needed - held);
      },
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

  /** Returns how many more slow attempts the endpoint may have. The more endpoints are slow, the smaller is each share. */
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
