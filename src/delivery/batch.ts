/** One batch: claims a queue, sends what is due, and settles it. No transaction is open while it sends. */
import type { Run } from '../database/database.ts';
import type { SigningKeyCipher } from '../domain/webhooks/signing-key-cipher.ts';
import type { Attempted } from './attempt-result.ts';
import { InFlight } from './in-flight.ts';
import type { Lease } from './leases.ts';
import { claimQueue, type DueDelivery, selectDueDeliveries, selectEndpoint, selectFirstDelivery } from './queue.ts';
import { redeliverBatch } from './redeliver-batch.ts';
import { type SendParts, sendDelivery, toTarget } from './send-delivery.ts';
import { type Claim, Settlement, type SettleParts, STATEMENT_TIMEOUT_MS } from './settlement.ts';
import type { BatchSlots } from './slots.ts';

export interface DeliveryParts extends SendParts, SettleParts {
  readonly cipher: SigningKeyCipher;
}

/** An attempt is slow that has not ended after this. The queue does not wait for it. */
const SLOW_MS = 1_000;
/** How long an ordered queue waits for an earlier message that has not been fanned out. */
const ORDER_WAIT_MS = 50;

export class Batch {
  readonly #parts: DeliveryParts;
  readonly #lease: Lease;
  /** Aborted when the process cannot wait any longer. */
  readonly #signal: AbortSignal;
  #settlement: Settlement | undefined;
  #attempts: InFlight<DueDelivery, Attempted> | undefined;

  constructor(parts: DeliveryParts, lease: Lease, signal: AbortSignal) {
    this.#parts = parts;
    this.#lease = lease;
    this.#signal = signal;
  }

  /** Sends what is due, and releases the queue when that has ended or is slow. */
  async run(slots: BatchSlots): Promise<void> {
    const chosen = await this.#choose(slots.count).catch((error) => {
      slots.keep(0);
      throw error;
    });
    slots.keep(chosen?.due.length ?? 0);
    if (!chosen) return;
    const { target, due, mustWait, settlement } = chosen;
    const attempts = new InFlight(due, (delivery) =>
      sendDelivery(this.#parts, target, delivery, this.#lease.signal).finally(() => slots.end()),
    );
    await attempts.waitForAll(SLOW_MS);
    const isQuick = attempts.left.length === 0;
    if (!isQuick) slots.slowDown();
    while (attempts.left.length > 0 && (mustWait || !slots.hasRoom())) await attempts.waitForOne();
    const slow = attempts.left;
    await settlement.release(attempts.takeEnded(), slow, isQuick);
    this.#attempts = attempts;
    this.#settlement = settlement;
  }

  /** Settles the attempts that were slow, as they end. Calls `onSettled` when the queue may be due. */
  async settleSlow(onSettled: () => void): Promise<void> {
    while (this.#attempts && this.#attempts.left.length > 0) {
      await this.#attempts.waitForOne();
      await this.#settlement?.settleSlow(this.#attempts.takeEnded());
      onSettled();
    }
  }

  /** Claims the queue. Returns what to send, or undefined if there is nothing. */
  async #choose(limit: number) {
    const { clock, cipher } = this.#parts;
    const { applicationId, webhookId, token, firstEnd } = this.#lease;
    const ids = { applicationId, webhookId };
    const now = clock();
    const [claimed] = await this.#run(claimQueue, { ...ids, lease: token, leaseEnd: firstEnd, now });
    if (!claimed) return undefined;
    if (claimed.isRedelivering) await this.#run(redeliverBatch, { ...ids, lease: token, now });

    const { endpoint, due, inOrder, isHeld } = await selectBatch(this.#run, { ...ids, now }, limit);
    const claim: Claim = { ...claimed, lease: this.#lease, inOrder };
    const settlement = new Settlement(this.#parts, claim, this.#signal);
    if (!endpoint?.isActive || due.length === 0) {
      await settlement.releaseUnused(isHeld ? new Date(now.getTime() + ORDER_WAIT_MS).toISOString() : null);
      return undefined;
    }
    // Statements that were late have used up the lease. The queue is due again when it ends.
    if (this.#lease.isOver) return undefined;
    // Held until its attempts have ended: an ordered endpoint gets one message after the other, and one that fails is
    // probed with one.
    const mustWait = inOrder || claimed.failedBatches > 0;
    return { target: toTarget(ids, endpoint, cipher), due, mustWait, settlement };
  }

  get #run(): Run {
    return this.#parts.database.within(performance.now() + STATEMENT_TIMEOUT_MS);
  }
}

/**
 * Returns up to `limit` deliveries that are due; one if the webhook is ordered. What is urgent keeps no order. `isHeld`:
 * an earlier message has to come first, which has not been fanned out.
 */
async function selectBatch(run: Run, queue: { applicationId: string; webhookId: string; now: Date }, limit: number) {
  const [[endpoint], found] = await Promise.all([
    run(selectEndpoint, queue),
    run(selectDueDeliveries, { ...queue, limit }),
  ]);
  const urgent = found.filter(({ isUrgent }) => isUrgent);
  if (urgent.length > 0 || !endpoint?.ordered) {
    return { endpoint, due: endpoint?.ordered ? urgent.slice(0, 1) : found, inOrder: false, isHeld: false };
  }
  const [first] = await run(selectFirstDelivery, queue);
  if (!first?.isDue) return { endpoint, due: [], inOrder: true, isHeld: false };
  return { endpoint, due: first.isFirst ? [first] : [], inOrder: true, isHeld: !first.isFirst };
}
