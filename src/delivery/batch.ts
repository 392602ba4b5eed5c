/** One batch: claims a queue, sends what is due, and settles it. No transaction is open while it sends. */
import { type KeyObject, randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { type Database, DatabaseUnavailableError, type Run } from '../database/database.ts';
import { BY_USHER, withAudit } from '../domain/audit/audit-event.ts';
import { pause } from '../domain/pause.ts';
import { toMessageId } from '../domain/webhooks/message-id.ts';
import type { SigningKeyCipher } from '../domain/webhooks/signing-key-cipher.ts';
import type { Sender } from './attempt.ts';
import { type Attempted, EXPIRED, toLoggedAttempt, toResult } from './attempt-result.ts';
import { sendInSpan } from './attempt-span.ts';
import { DISABLED_REASONS, disableWebhook, MAX_FAILING_MS } from './disable-webhook.ts';
import { type ClaimedQueue, claimQueue, type DueDelivery, type DueQueue, type Endpoint } from './queue.ts';
import { redeliverBatch } from './redeliver-batch.ts';
import { createRequest } from './request.ts';
import { backoffMs } from './retry-schedule.ts';
import { selectBatch } from './select-batch.ts';
import { insertAttempts, type Released, type Result, settleBatch } from './settle.ts';
import { readSigningKey } from './signature.ts';

export interface DeliveryParts {
  readonly cipher: SigningKeyCipher;
  readonly clock: () => Date;
  readonly database: Database;
  readonly logger: Logger;
  readonly sender: Pick<Sender, 'send'>;
  /** The delay before each attempt, in seconds. */
  readonly schedule: readonly number[];
  readonly attemptTimeoutMs: number;
  readonly userAgent: string;
}

/** How long a statement may take. */
export const STATEMENT_TIMEOUT_MS = 5_000;
/** The lease outlasts the attempts by this. */
const LEASE_MARGIN_MS = 4 * STATEMENT_TIMEOUT_MS;
/** How long an ordered queue waits for an earlier message that has not been fanned out. */
const ORDER_WAIT_MS = 50;
const SETTLE_RETRY_MS = 500;

export class Batch {
  readonly #parts: DeliveryParts;
  readonly #queue: DueQueue;
  readonly #lease = randomUUID();
  readonly #leaseEnd: number;
  /** Aborted when the process cannot wait any longer. */
  readonly #signal: AbortSignal;

  constructor(parts: DeliveryParts, queue: DueQueue, signal: AbortSignal) {
    this.#parts = parts;
    this.#queue = queue;
    this.#signal = signal;
    this.#leaseEnd = performance.now() + parts.attemptTimeoutMs + LEASE_MARGIN_MS;
  }

  /** Sends up to `limit` deliveries at the same time. Calls `onAttempt` when each has ended. */
  async run(limit: number, onAttempt: () => void): Promise<void> {
    const { clock, attemptTimeoutMs } = this.#parts;
    const { applicationId, webhookId } = this.#queue;
    const now = clock();
    const leaseEnd = new Date(now.getTime() + attemptTimeoutMs + LEASE_MARGIN_MS);
    const ids = { applicationId, webhookId };
    const [claimed] = await this.#run(claimQueue, { ...ids, lease: this.#lease, leaseEnd, now });
    if (!claimed) return;
    if (claimed.isRedelivering) await this.#run(redeliverBatch, { ...ids, lease: this.#lease, now });

    const { endpoint, due, inOrder, isHeld } = await selectBatch(this.#run, { ...ids, now }, limit);
    if (!endpoint?.isActive || due.length === 0) {
      const notBefore = isHeld ? new Date(now.getTime() + ORDER_WAIT_MS).toISOString() : null;
      await this.#settle(claimed, { results: [], inOrder, isFailure: null, notBefore });
      return;
    }
    // Statements that were late have used up the time of the attempts. The queue is due again when the lease ends.
    if (performance.now() + attemptTimeoutMs > this.#leaseEnd) return;
    const target = this.#toTarget(endpoint);
    const attempted = await Promise.all(due.map((delivery) => this.#attempt(target, delivery).finally(onAttempt)));
    await this.#conclude(claimed, attempted, inOrder);
  }

  async #attempt({ url, keys }: Target, delivery: DueDelivery): Promise<Attempted> {
    const { clock, sender, logger, userAgent } = this.#parts;
    const { messageId, payload, type } = delivery;
    const at = clock();
    const startedAt = performance.now();
    const outcome =
      payload === null
        ? EXPIRED
        : await sendInSpan(
            createRequest(url, { messageId, body: payload, at }, keys, userAgent),
            { 'usher.webhook_id': this.#queue.webhookId, 'usher.message_id': toMessageId(messageId) },
            (request) => sender.send(request, this.#signal),
          );
    const durationMs = Math.round(performance.now() - startedAt);
    const { statusCode, error } = outcome;
    const attempt = delivery.attemptCount + 1;
    logger.info(
      { ...this.#ids, messageId: toMessageId(messageId), type, attempt, statusCode, error, durationMs },
      'webhook attempt',
    );
    return { delivery, at, durationMs, outcome };
  }

  #toTarget({ url, signingKey, earlierSigningKeys }: Endpoint): Target {
    const earlier = earlierSigningKeys.map((key) => Buffer.from(key, 'base64'));
    const keys = [signingKey, ...earlier].map((key) => readSigningKey(this.#parts.cipher.decrypt(key, this.#ids)));
    return { url, keys };
  }

  async #conclude(claimed: ClaimedQueue, attempted: readonly Attempted[], inOrder: boolean): Promise<void> {
    const { logger } = this.#parts;
    // What was cut short by a shutdown counts as not attempted.
    const ended = attempted.filter(({ outcome }) => outcome.statusCode !== null || !this.#signal.aborted);
    const results = ended.map((attempt) => toResult(attempt, this.#parts.schedule, this.#parts.clock()));
    const hasSuccess = ended.some(({ outcome }) => outcome.error === null);
    const isFailure = ended.length === 0 ? null : !hasSuccess;
    const delayMs = isFailure ? backoffMs(this.#parts.schedule, claimed.failedBatches) : 0;
    const settled = this.#settle(claimed, {
      results,
      inOrder,
      isFailure,
      isCounted: ended.some(({ delivery }) => !delivery.isManual),
      notBefore: delayMs > 0 ? new Date(this.#parts.clock().getTime() + delayMs).toISOString() : null,
    });
    // A delivery is settled even if its log cannot be written.
    const logged = this.#log(ended).catch((error) => logger.warn({ err: error }, 'attempt log failed'));
    const [released] = await Promise.all([settled, logged]);
    if (released) await this.#disableIfNeeded(released, ended, isFailure === true);
  }

  /** Tries until the lease has ended, since what is not settled is sent again. */
  async #settle(
    { wakeCount }: ClaimedQueue,
    { results, isCounted = false, ...outcome }: Settlement,
  ): Promise<Released | undefined> {
    const dueInstants = results.flatMap(({ due_at }) => due_at?.getTime() ?? []);
    const retryAt = dueInstants.length > 0 ? new Date(Math.min(...dueInstants)).toISOString() : null;
    for (;;) {
      const now = this.#parts.clock();
      const values = { ...this.#ids, lease: this.#lease, now, wakeCount, retryAt, isCounted, ...outcome };
      try {
        const [released] = await this.#run(settleBatch, { ...values, results: JSON.stringify(results) });
        return released;
      } catch (error) {
        const mayTryAgain = error instanceof DatabaseUnavailableError && performance.now() < this.#leaseEnd;
        if (!mayTryAgain || this.#signal.aborted) throw error;
        await pause(SETTLE_RETRY_MS, this.#signal);
      }
    }
  }

  async #log(ended: readonly Attempted[]): Promise<void> {
    const attempts = JSON.stringify(ended.map(toLoggedAttempt));
    if (ended.length > 0) await this.#run(insertAttempts, { ...this.#ids, attempts });
  }

  async #disableIfNeeded(
    { failingSince }: Released,
    attempted: readonly Attempted[],
    isFailure: boolean,
  ): Promise<void> {
    const now = this.#parts.clock();
    const isGone = attempted.some(({ outcome }) => outcome.statusCode === 410);
    const isFailing = isFailure && failingSince !== null && now.getTime() - Date.parse(failingSince) >= MAX_FAILING_MS;
    if (!isGone && !isFailing) return;
    const reason = isGone ? DISABLED_REASONS.gone : DISABLED_REASONS.failing;
    const run = withAudit(this.#run, { ...BY_USHER, action: 'DisableWebhook', now });
    const [disabled] = await run(disableWebhook, { ...this.#ids, reason, now });
    if (disabled) this.#parts.logger.warn({ ...this.#ids, reason }, 'webhook disabled');
  }

  get #ids() {
    const { applicationId, webhookId } = this.#queue;
    return { applicationId, webhookId };
  }

  get #run(): Run {
    return this.#parts.database.within(performance.now() + STATEMENT_TIMEOUT_MS);
  }
}

/** Where the messages of a batch go, and what signs them. */
interface Target {
  readonly url: string;
  readonly keys: readonly KeyObject[];
}

interface Settlement {
  readonly results: readonly Result[];
  readonly inOrder: boolean;
  readonly isFailure: boolean | null;
  readonly isCounted?: boolean;
  readonly notBefore: string | null;
}
