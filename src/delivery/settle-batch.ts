/** Settles a batch: stores results, releases the queue, logs attempts, and disables a webhook that has failed for days. */
import type { Logger } from 'pino';
import {
  DatabaseUnavailableError,
  type PlaceholderValues,
  type Run,
  type Statement,
} from '../database/pool/database.ts';
import { BY_USHER, withAudit } from '../domain/audit/audit-event.ts';
import { pause } from '../pause.ts';
import { logAttempts } from './attempt-log.ts';
import { type EndedAttempt, EXPIRED, isRefusal, markInFlight, postpone, toDeliveryState } from './delivery-state.ts';
import { disableWebhook, reasonToDisable } from './disable-webhook.ts';
import type { Lease } from './leases.ts';
import type { ClaimedQueue, DueDelivery } from './queue.ts';
import { backoffMs } from './retry-schedule.ts';
import { type BatchOutcome, type DeliveryState, type Released, settleBatch, settleSlow } from './settle-statements.ts';

export interface SettleParts {
  readonly clock: () => Date;
  readonly logger: Logger;
  /** Counts of attempts, by the status of the delivery after the attempt. */
  readonly outcomes: Record<DeliveryState['status'], number>;
  readonly run: Run;
  /** The delay before each attempt, in seconds. */
  readonly schedule: readonly number[];
}

export interface Claim extends ClaimedQueue {
  readonly lease: Lease;
  /** Whether deliveries are sent one at a time. */
  readonly inOrder: boolean;
}

const SETTLE_RETRY_MS = 500;
/** Longer than a lease: late results still count if no other process has taken the queue. */
const SETTLE_TIMEOUT_MS = 30_000;

export class BatchSettler {
  readonly #parts: SettleParts;
  readonly #claim: Claim;
  /** Aborted when a shutdown can wait no longer. */
  readonly #signal: AbortSignal;
  #releasedAt: Date | null = null;

  constructor(parts: SettleParts, claim: Claim, signal: AbortSignal) {
    this.#parts = parts;
    this.#claim = claim;
    this.#signal = signal;
  }

  /**
   * Settles the attempts that have ended, and releases the queue. Slow attempts keep their deliveries as long as the
   * lease is extended.
   *
   * @param isQuick whether all attempts have ended within a second
   * @param notBefore the earliest instant at which the queue is due again. A failed batch has a backoff instead.
   */
  async release({ ended = [], slow = [], isQuick = false, notBefore = null }: SentBatch): Promise<void> {
    const { lease, wakeCount, inOrder } = this.#claim;
    // Aborted attempts, at a shutdown or before the lease ends, do not count: their deliveries stay due.
    const completed = ended.filter((attempt) => !this.#isAborted(attempt));
    const outcome = toOutcome(completed) ?? (slow.length > 0 ? 'slow' : null);
    this.#releasedAt = this.#parts.clock();
    await this.#settle(settleBatch, completed, {
      results: [...this.#toStates(completed), ...slow.map((delivery) => markInFlight(delivery, lease))],
      lease: lease.token,
      wakeCount,
      inOrder,
      outcome,
      isCounted: [...completed.map(({ delivery }) => delivery), ...slow].some(({ isManual }) => !isManual),
      isQuick,
      notBefore: outcome === 'failure' ? this.#backOff() : notBefore,
    });
  }

  /** Settles slow attempts that have ended since the release. Does nothing after the end of the lease. */
  async settleSlow(ended: readonly EndedAttempt[]): Promise<void> {
    const completed = ended.filter((attempt) => !this.#isAborted(attempt));
    const aborted = ended.filter((attempt) => this.#isAborted(attempt));
    await this.#settle(settleSlow, completed, {
      results: [
        ...this.#toStates(completed),
        ...aborted.map(({ delivery }) => postpone(delivery, this.#parts.clock())),
      ],
      leaseEnd: this.#claim.lease.firstEnd,
      outcome: toOutcome(completed),
      releasedAt: this.#releasedAt,
      notBefore: this.#backOff(),
    });
  }

  /** Stores the results, logs the attempts, and disables the webhook if there is a reason to. */
  async #settle(
    statement: Statement<Released[]>,
    completed: readonly EndedAttempt[],
    parameters: PlaceholderValues,
  ): Promise<void> {
    const { logger, clock, run } = this.#parts;
    // Read before statements run: time in which the process is suspended or waits must not count as failing.
    const now = clock();
    const [released] = await Promise.all([
      this.#store(statement, parameters),
      // Deliveries are settled even if their attempts cannot be logged.
      logAttempts(run, this.#ids, completed).catch((error) => logger.warn({ err: error }, 'attempt log failed')),
    ]);
    if (!released) return;
    const reason = reasonToDisable(completed, released.failingSince, now);
    if (reason === undefined) return;
    const runAudited = withAudit(run, { ...BY_USHER, action: 'DisableWebhook', now });
    const [disabled] = await runAudited(disableWebhook, { ...this.#ids, reason, now });
    if (disabled) logger.warn({ ...this.#ids, reason }, 'webhook disabled');
  }

  /** Retries for a while, because deliveries are sent again unless they are settled. */
  async #store(statement: Statement<Released[]>, parameters: PlaceholderValues): Promise<Released | undefined> {
    const { clock, run } = this.#parts;
    const deadline = performance.now() + SETTLE_TIMEOUT_MS;
    for (;;) {
      try {
        const [released] = await run(statement, { ...this.#ids, ...parameters, now: clock() });
        return released;
      } catch (error) {
        const mayTryAgain = error instanceof DatabaseUnavailableError && performance.now() < deadline;
        if (!mayTryAgain || this.#signal.aborted) throw error;
        await pause(SETTLE_RETRY_MS, this.#signal);
      }
    }
  }

  /** Returns the new states of the deliveries. Also counts the attempts in `outcomes`. */
  #toStates(completed: readonly EndedAttempt[]): DeliveryState[] {
    const { schedule, clock, outcomes } = this.#parts;
    const results = completed.map((attempt) => toDeliveryState(attempt, schedule, clock()));
    for (const { status } of results) outcomes[status]++;
    return results;
  }

  #backOff(): Date {
    const { schedule, clock } = this.#parts;
    return new Date(clock().getTime() + backoffMs(schedule, this.#claim.failedBatches));
  }

  #isAborted({ outcome }: EndedAttempt): boolean {
    return outcome.statusCode === null && this.#claim.lease.signal.aborted;
  }

  get #ids() {
    const { applicationId, webhookId } = this.#claim.lease;
    return { applicationId, webhookId };
  }
}

/** The ended attempts of a batch, and the deliveries whose attempts are still in flight. */
interface SentBatch {
  readonly ended?: readonly EndedAttempt[];
  readonly slow?: readonly DueDelivery[];
  readonly isQuick?: boolean;
  readonly notBefore?: Date | null;
}

/** One success or refusal shows that the endpoint works. An expired message shows nothing. */
function toOutcome(completed: readonly EndedAttempt[]): BatchOutcome | null {
  const outcomes = completed.map(({ outcome }) => outcome).filter((outcome) => outcome !== EXPIRED);
  if (outcomes.length === 0) return null;
  if (outcomes.some(({ error }) => error === null)) return 'success';
  return outcomes.some(isRefusal) ? 'refused' : 'failure';
}
