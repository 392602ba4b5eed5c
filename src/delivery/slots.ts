/**
 * Concurrency limits: quick, slow and failing endpoints have separate budgets, and no application takes all of one.
 * However many endpoints hang, attempts to quick endpoints do not wait.
 */

export const ENDPOINT_KINDS = ['quick', 'unproven', 'failing'] as const;
/** `quick`: its last batch was answered within a second. `failing`: its last batch failed. `unproven`: slow or new. */
export type EndpointKind = (typeof ENDPOINT_KINDS)[number];

/** Slow attempts per slot. A slow attempt takes a socket, but hardly any CPU time. */
const SLOW_PER_SLOT = 4;
/** Failing endpoints take at most this share of the slow attempts. */
const FAILING_SHARE = 1 / 4;
/** An application takes at most this share of the slots. */
const QUICK_SHARE = 1 / 2;
/** This share of the slots is for applications that have none, and slow attempts never take it. */
const RESERVED_SHARE = 1 / 4;
/** An application takes at most this share of the slow attempts while others have due queues. */
const SLOW_SHARE = 1 / 4;
/** Endpoints with slow attempts share this part of the limit. The rest is left for endpoints without slow attempts. */
const SHARED_SLOW = 1 / 4;
/** How many queues of one application may be claimed at a time. Each claim has several statements, which others wait for. */
const MAX_CLAIMS = 2;

interface QueueKind {
  readonly applicationId: string;
  readonly kind: EndpointKind;
}

interface TakingQueue extends QueueKind {
  readonly webhookId: string;
  readonly batchSize: number;
}

/** Attempts of a batch. */
interface Attempts extends QueueKind {
  readonly webhookId: string;
  readonly isSlow: boolean;
}

/** What an application has of the budgets. */
interface Held {
  claims: number;
  quick: number;
  slow: number;
  failing: number;
  readonly slowByWebhook: Map<string, number>;
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
  readonly #held = new Map<string, Held>();
  #quick = 0;
  #slow = 0;
  #failing = 0;

  constructor(size: number) {
    this.#size = size;
    this.#maxSlow = size * SLOW_PER_SLOT;
  }

  /** Returns how many attempts may start to endpoints of this kind. */
  countFree(kind: EndpointKind): number {
    const slow = this.#maxSlow - this.#slow;
    // If many quick endpoints become slow at once, the slow attempts above their limit take quick slots.
    const taken = Math.min(Math.max(0, -slow), this.#size * (1 - RESERVED_SHARE));
    const free = {
      quick: this.#size - this.#quick - Math.floor(taken),
      unproven: slow,
      failing: Math.min(slow, this.#maxFailing - this.#failing),
    };
    return Math.max(0, free[kind]);
  }

  /**
   * Returns whether a batch of the queue may start.
   *
   * @param isAlone whether no other application has a due queue
   */
  hasTurn({ applicationId, kind }: QueueKind, isAlone: boolean): boolean {
    const held = this.#heldBy(applicationId);
    return held.claims < MAX_CLAIMS && this.countFree(kind) > 0 && this.#countLeft(held, kind, isAlone) > 0;
  }

  /** Returns the applications that must wait, so that a search finds the queues of others. */
  listWaiting(kind: EndpointKind, isAlone: boolean): string[] {
    return [...this.#held.keys()].filter((applicationId) => !this.hasTurn({ applicationId, kind }, isAlone));
  }

  /** Takes slots for a batch of the queue. It takes at least one, so check `hasTurn` first. */
  take({ applicationId, kind, webhookId, batchSize }: TakingQueue, isAlone = false): BatchSlots {
    const free = this.countFree(kind);
    const held = this.#heldBy(applicationId);
    const limits = { quick: Math.ceil(free / 2), unproven: this.#slowLeft(applicationId, webhookId), failing: 1 };
    const left = this.#countLeft(held, kind, isAlone);
    const count = Math.max(1, Math.floor(Math.min(batchSize, free, limits[kind], left)));
    let taken = 0;
    let claims = 0;
    let isSlow = kind !== 'quick';
    const add = (change: number, claimChange = 0) => {
      taken += change;
      claims += claimChange;
      this.#add({ applicationId, webhookId, kind, isSlow }, change, claimChange);
    };
    add(count, 1);
    return {
      count,
      keep: (needed) => add(needed - taken, -claims),
      end: () => add(-1),
      slowDown: () => {
        const slow = taken;
        add(-slow);
        isSlow = true;
        add(slow);
      },
      hasRoom: () => this.#slowLeft(applicationId, webhookId) > 0,
    };
  }

  get #maxFailing(): number {
    return Math.ceil(this.#maxSlow * FAILING_SHARE);
  }

  #heldBy(applicationId: string): Held {
    return this.#held.get(applicationId) ?? { claims: 0, quick: 0, slow: 0, failing: 0, slowByWebhook: new Map() };
  }

  #add({ applicationId, webhookId, kind, isSlow }: Attempts, change: number, claimChange: number): void {
    const held = this.#heldBy(applicationId);
    held.claims += claimChange;
    if (kind === 'failing') {
      this.#failing += change;
      held.failing += change;
    }
    if (isSlow) {
      this.#slow += change;
      held.slow += change;
      const slow = (held.slowByWebhook.get(webhookId) ?? 0) + change;
      if (slow === 0) held.slowByWebhook.delete(webhookId);
      else held.slowByWebhook.set(webhookId, slow);
    } else {
      this.#quick += change;
      held.quick += change;
    }
    if (held.claims + held.quick + held.slow === 0) this.#held.delete(applicationId);
    else this.#held.set(applicationId, held);
  }

  /** Returns how many more attempts to endpoints of the kind the application may have. */
  #countLeft(held: Held, kind: EndpointKind, isAlone: boolean): number {
    // Quick attempts count, because their endpoints may hang.
    const free = this.#maxSlow - this.#slow - held.quick;
    const share = isAlone ? free : Math.min(free, this.#maxSlow * SLOW_SHARE);
    // An application leaves as many to others as it has, and a batch half of the rest to further endpoints.
    const slow = Math.ceil((share - held.slow - held.quick) / 2);
    if (kind === 'unproven') return slow;
    if (kind === 'failing') return Math.min(slow, this.#maxFailing - this.#failing - held.failing);
    const reserved = held.quick > 0 ? this.#size * RESERVED_SHARE : 0;
    const quick = Math.min(this.#size * QUICK_SHARE - held.quick, this.countFree('quick') - reserved);
    return held.slow > 0 ? Math.min(slow, quick) : quick;
  }

  /** Returns how many more slow attempts the endpoint may have. The more endpoints are slow, the smaller is each share. */
  #slowLeft(applicationId: string, webhookId: string): number {
    const { slow, slowByWebhook } = this.#heldBy(applicationId);
    const applications = this.#slowApplications + (slow > 0 ? 0 : 1);
    const ofWebhook = slowByWebhook.get(webhookId) ?? 0;
    const endpoints = slowByWebhook.size + (ofWebhook > 0 ? 0 : 1);
    return (this.#maxSlow * SHARED_SLOW) / applications / endpoints - ofWebhook;
  }

  get #slowApplications(): number {
    return [...this.#held.values()].filter(({ slow }) => slow > 0).length;
  }
}
