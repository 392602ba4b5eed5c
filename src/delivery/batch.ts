/** A batch claims a queue, sends its due deliveries, and settles them. No transaction is open while it sends. */

import { sql } from 'drizzle-orm';
import type { Run } from '../database/pool/database.ts';
import { p, statement } from '../database/sql/template.ts';
import type { RowCipher } from '../domain/crypto/aes-gcm.ts';
import { asDueAgain } from '../domain/webhooks/delivery.ts';
import type { EndedAttempt } from './delivery-state.ts';
import type { Lease } from './leases.ts';
import { claimQueue, type DueDelivery, selectDueDeliveries, selectEndpoint, selectFirstDelivery } from './queue.ts';
import { type SendParts, sendDelivery, toTarget } from './send-delivery.ts';
import { BatchSettler, type Claim, type SettleParts } from './settle-batch.ts';
import type { BatchSlots } from './slots.ts';

export interface DeliveryParts extends SendParts, SettleParts {
  readonly cipher: RowCipher;
}

/** An attempt that takes longer is slow: the queue does not wait for it. */
const SLOW_MS = 1_000;
/** How long an ordered queue is postponed while an earlier message has not been fanned out. */
const ORDER_WAIT_MS = 50;

export class Batch {
  readonly #parts: DeliveryParts;
  readonly #lease: Lease;
  /** Aborted when a shutdown can wait no longer. */
  readonly #signal: AbortSignal;
  #settler: BatchSettler | undefined;
  #attempts: AttemptsInFlight | undefined;

  constructor(parts: DeliveryParts, lease: Lease, signal: AbortSignal) {
    this.#parts = parts;
    this.#lease = lease;
    this.#signal = signal;
  }

  /** Sends due deliveries. Releases the queue once every attempt has ended or is slow. */
  async run(slots: BatchSlots): Promise<void> {
    const claimed = await this.#claim(slots.count).catch((error) => {
      slots.keep(0);
      throw error;
    });
    slots.keep(claimed?.due.length ?? 0);
    if (!claimed) return;
    const { target, due, mustWait, settler } = claimed;
    const attempts = new AttemptsInFlight(due, (delivery) =>
      sendDelivery(this.#parts, target, delivery, this.#lease.signal).finally(() => slots.end()),
    );
    await attempts.waitForAll(SLOW_MS);
    const isQuick = attempts.left.length === 0;
    if (!isQuick) slots.slowDown();
    // Slow attempts continue after the release, up to the number that the endpoint may have.
    while (attempts.left.length > 0 && (mustWait || !slots.hasRoom())) await attempts.waitForOne();
    const slow = attempts.left;
    await settler.release({ ended: attempts.takeEnded(), slow, isQuick });
    this.#attempts = attempts;
    this.#settler = settler;
  }

  /** Settles slow attempts as they end. Calls `onSettled` each time, because the queue may be due again. */
  async settleSlow(onSettled: () => void): Promise<void> {
    for (;;) {
      // Also those that have ended while others were settled, or the queue released.
      const ended = this.#attempts?.takeEnded() ?? [];
      if (ended.length > 0) {
        await this.#settler?.settleSlow(ended);
        onSettled();
      } else if (this.#attempts?.left.length) await this.#attempts.waitForOne();
      else return;
    }
  }

  /** Claims the queue. Returns undefined if there is nothing to send. */
  async #claim(limit: number) {
    const { clock, cipher, run } = this.#parts;
    const { applicationId, webhookId, token, firstEnd } = this.#lease;
    const ids = { applicationId, webhookId };
    const now = clock();
    const [claimed] = await run(claimQueue, { ...ids, lease: token, leaseEnd: firstEnd, now });
    if (!claimed) return undefined;
    if (claimed.isRedelivering) await run(redeliverBatch, { ...ids, lease: token, now });

    const { endpoint, due, inOrder, isBlocked } = await selectBatch(run, { ...ids, now }, limit);
    const claim: Claim = { ...claimed, lease: this.#lease, inOrder };
    const settler = new BatchSettler(this.#parts, claim, this.#signal);
    if (!endpoint?.isActive || due.length === 0) {
      await settler.release({ notBefore: isBlocked ? new Date(now.getTime() + ORDER_WAIT_MS) : null });
      return undefined;
    }
    // Too little of the lease is left for an attempt. Once the lease has expired, the queue is due again.
    if (this.#lease.isOver) return undefined;
    // The queue stays leased until the attempt has ended: an ordered webhook gets one message at a time, and a failing
    // endpoint gets one probe.
    const mustWait = inOrder || claimed.failedBatches > 0;
    return { target: toTarget(ids, endpoint, cipher), due, mustWait, settler };
  }
}

/**
 * Returns up to `limit` due deliveries, or one if the webhook is ordered. Urgent deliveries may overtake others.
 * `isBlocked`: an earlier message has not been fanned out, and its delivery must come first.
 */
async function selectBatch(run: Run, queue: { applicationId: string; webhookId: string; now: Date }, limit: number) {
  const [[endpoint], found] = await Promise.all([
    run(selectEndpoint, queue),
    run(selectDueDeliveries, { ...queue, limit }),
  ]);
  const urgent = found.filter(({ isUrgent }) => isUrgent);
  if (urgent.length > 0 || !endpoint?.ordered) {
    return { endpoint, due: endpoint?.ordered ? urgent.slice(0, 1) : found, inOrder: false, isBlocked: false };
  }
  const [first] = await run(selectFirstDelivery, queue);
  if (!first?.isDue) return { endpoint, due: [], inOrder: true, isBlocked: false };
  return { endpoint, due: first.isFirst ? [first] : [], inOrder: true, isBlocked: !first.isFirst };
}

/** Redelivery of failed deliveries. The queue stores which ones; the lease holder makes them pending, batch by batch. */
const BATCH_SIZE = 1_000;

const batchSize = sql.raw(`${BATCH_SIZE}`);
const isCut = sql`(select count(*) from chosen) = ${batchSize}`;

/** Makes a batch of failed deliveries pending again. */
const redeliverBatch = statement('redeliver_batch')`
  with job as (
    select redeliver_since as since, redeliver_until as until from webhook_queues
    where application_id = ${p.uuid('applicationId')} and webhook_id = ${p.text('webhookId')}
      and lease = ${p.uuid('lease')} and redeliver_since is not null
    for update
  ), chosen as (
    select message_id, created_at from webhook_deliveries, job
    where application_id = ${p.uuid('applicationId')} and webhook_id = ${p.text('webhookId')} and status = 'failed'
      and created_at >= since and created_at <= until
    order by created_at, message_id limit ${batchSize}
  ), renewed as (
    update webhook_deliveries set ${asDueAgain(p.instant('now'))}
    where application_id = ${p.uuid('applicationId')} and webhook_id = ${p.text('webhookId')}
      and message_id = any(array(select message_id from chosen)) and status = 'failed'
  ), moved as (
    -- The next batch begins at the last instant of this one. Otherwise deliveries that fail again would be chosen forever.
    update webhook_queues set
      redeliver_since = case when ${isCut} then (select max(created_at) from chosen) end,
      redeliver_until = case when ${isCut} then redeliver_until end
    where application_id = ${p.uuid('applicationId')} and webhook_id = ${p.text('webhookId')}
      and exists (select 1 from job)
  )
  select from job`;

/** Attempts in flight, each for one delivery. */
class AttemptsInFlight {
  readonly #left = new Map<DueDelivery, Promise<void>>();
  #ended: EndedAttempt[] = [];

  constructor(deliveries: readonly DueDelivery[], attempt: (delivery: DueDelivery) => Promise<EndedAttempt>) {
    for (const delivery of deliveries) {
      const ended = attempt(delivery).then((endedAttempt) => {
        this.#ended.push(endedAttempt);
        this.#left.delete(delivery);
      });
      // Callers see the error from `waitForOne` or `waitForAll`. This handler only prevents an unhandled rejection.
      ended.catch(() => {});
      this.#left.set(delivery, ended);
    }
  }

  /** The deliveries whose attempts have not ended. */
  get left(): readonly DueDelivery[] {
    return [...this.#left.keys()];
  }

  /** Returns the attempts that have ended since the last call. */
  takeEnded(): readonly EndedAttempt[] {
    const ended = this.#ended;
    this.#ended = [];
    return ended;
  }

  /** Resolves when an attempt ends. */
  async waitForOne(): Promise<void> {
    await Promise.race(this.#left.values());
  }

  /** Resolves when all attempts have ended, or after the timeout. */
  async waitForAll(timeoutMs: number): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, timeoutMs);
    await Promise.race([Promise.all(this.#left.values()), late.promise]).finally(() => clearTimeout(timer));
  }
}
