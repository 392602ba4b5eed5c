/** Settles a batch: stores the results, releases the queue, logs the attempts, and disables the webhook if it must. */
import type { Logger } from 'pino';
import {
  type Database,
  DatabaseUnavailableError,
  type PlaceholderValues,
  type Run,
  type Statement,
} from '../database/database.ts';
import { BY_USHER, withAudit } from '../domain/audit/audit-event.ts';
import { pause } from '../domain/pause.ts';
import { removeBodiesOfErased } from '../domain/webhooks/response-bodies.ts';
import { type EndedAttempt, markInFlight, postpone, toDeliveryState, toLoggedAttempt } from './delivery-state.ts';
import { DISABLED_REASONS, disableWebhook, MAX_FAILING_MS } from './disable-webhook.ts';
import type { Lease } from './leases.ts';
import type { ClaimedQueue, DueDelivery } from './queue.ts';
import { backoffMs } from './retry-schedule.ts';
import {
  type BatchOutcome,
  type DeliveryState,
  insertAttempts,
  type Released,
  settleBatch,
  settleSlow,
} from './settle-statements.ts';

export interface SettleParts {
  readonly clock: () => Date;
  readonly database: Database;
  readonly logger: Logger;
  /** Counts attempts by the status that their deliveries have then. */
  readonly outcomes?: Record<DeliveryState['status'], number>;
  /** The delay before each attempt, in seconds. */
  readonly schedule: readonly number[];
}

/** A queue that this process has leased. */
export interface Claim extends ClaimedQueue {
  readonly lease: Lease;
  /** Whether deliveries are sent one at a time. */
  readonly inOrder: boolean;
}

export const STATEMENT_TIMEOUT_MS = 5_000;
const SETTLE_RETRY_MS = 500;
/** Longer than a lease: if nobody else has taken the queue, late results still count. */
const SETTLE_TIMEOUT_MS = 30_000;

export class BatchSettler {
  readonly #parts: SettleParts;
  readonly #claim: Claim;
  /** Aborted when a shutdown can wait no longer. */
  readonly #signal: AbortSignal;
  #releasedAt: string | null = null;

  constructor(parts: SettleParts, claim: Claim, signal: AbortSignal) {
    this.#parts = parts;
    this.#claim = claim;
    this.#signal = signal;
  }

  /** Releases a queue of which nothing was sent. */
  async releaseUnused(notBefore: string | null): Promise<void> {
    await this.#release({ results: [], outcome: null, isCounted: false, isQuick: false, notBefore });
  }

  /**
   * Settles the attempts that have ended, and releases the queue. Slow attempts keep their deliveries as long as the
   * lease is extended.
   */
  async release(ended: readonly EndedAttempt[], slow: readonly DueDelivery[], isQuick: boolean): Promise<void> {
    // Attempts that a shutdown has aborted do not count: their deliveries stay due.
    const completed = ended.filter((attempt) => !this.#isAborted(attempt));
    const results = [
      ...this.#toStates(completed),
      ...slow.map((delivery) => markInFlight(delivery, this.#claim.lease)),
    ];
    const outcome = toOutcome(completed) ?? (slow.length > 0 ? 'slow' : null);
    const isCounted = [...completed.map(({ delivery }) => delivery), ...slow].some(({ isManual }) => !isManual);
    const notBefore = outcome === 'failure' ? this.#backOff() : null;
    await this.#finish(completed, outcome, this.#release({ results, outcome, isCounted, isQuick, notBefore }));
  }

  /** Settles slow attempts that have ended since the release. Does nothing after the end of the lease. */
  async settleSlow(ended: readonly EndedAttempt[]): Promise<void> {
    const completed = ended.filter((attempt) => !this.#isAborted(attempt));
    const aborted = ended.filter((attempt) => this.#isAborted(attempt));
    const results = [
      ...this.#toStates(completed),
      ...aborted.map(({ delivery }) => postpone(delivery, this.#parts.clock())),
    ];
    const outcome = toOutcome(completed);
    const leaseEnd = this.#claim.lease.firstEnd.toISOString();
    const values = { results, outcome, leaseEnd, releasedAt: this.#releasedAt, notBefore: this.#backOff() };
    await this.#finish(completed, outcome, this.#write(settleSlow, values));
  }

  #release({ results, ...values }: SettleParameters): Promise<Released | undefined> {
    const { wakeCount, inOrder } = this.#claim;
    const lease = this.#claim.lease.token;
    const dueInstants = results.flatMap(({ due_at }) => due_at?.getTime() ?? []);
    const retryAt = dueInstants.length > 0 ? new Date(Math.min(...dueInstants)).toISOString() : null;
    this.#releasedAt = this.#parts.clock().toISOString();
    return this.#write(settleBatch, { results, lease, wakeCount, inOrder, retryAt, ...values });
  }

  /** Retries for a while, because deliveries that are not settled are sent again. */
  async #write(
    statement: Statement<Released[]>,
    { results, ...values }: SettleParameters,
  ): Promise<Released | undefined> {
    const deadline = performance.now() + SETTLE_TIMEOUT_MS;
    for (;;) {
      const parameters = { ...this.#ids, results: JSON.stringify(results) };
      try {
        const now = this.#parts.clock().toISOString();
        const [released] = await this.#run(statement, { ...parameters, ...values, now });
        return released;
      } catch (error) {
        const mayTryAgain = error instanceof DatabaseUnavailableError && performance.now() < deadline;
        if (!mayTryAgain || this.#signal.aborted) throw error;
        await pause(SETTLE_RETRY_MS, this.#signal);
      }
    }
  }

  async #finish(
    completed: readonly EndedAttempt[],
    outcome: BatchOutcome | null,
    settled: Promise<Released | undefined>,
  ): Promise<void> {
    const now = this.#parts.clock();
    // A delivery is settled even if its log cannot be written.
    const logged = this.#log(completed).catch((error) => this.#parts.logger.warn({ err: error }, 'attempt log failed'));
    const [released] = await Promise.all([settled, logged]);
    if (released) await this.#disableIfNeeded(released, completed, outcome, now);
  }

  #toStates(completed: readonly EndedAttempt[]): DeliveryState[] {
    const { schedule, clock, outcomes } = this.#parts;
    const results = completed.map((attempt) => toDeliveryState(attempt, schedule, clock()));
    if (outcomes) for (const { status } of results) outcomes[status]++;
    return results;
  }

  async #log(completed: readonly EndedAttempt[]): Promise<void> {
    if (completed.length === 0) return;
    const attempts = completed.map(toLoggedAttempt);
    await this.#run(insertAttempts, { ...this.#ids, attempts: JSON.stringify(attempts) });
    // A concurrent erasure has not seen the inserted bodies.
    const userIds = attempts.flatMap(({ user_id }) => user_id ?? []);
    if (userIds.length > 0) await this.#run(removeBodiesOfErased, { ...this.#ids, userIds: `{${userIds.join()}}` });
  }

  async #disableIfNeeded(
    { failingSince }: Released,
    completed: readonly EndedAttempt[],
    outcome: BatchOutcome | null,
    now: Date,
  ): Promise<void> {
    const isGone = completed.some(({ outcome }) => outcome.statusCode === 410);
    const isCounted = outcome === 'failure' && completed.some(({ delivery }) => !delivery.isManual);
    const failingMs = failingSince === null ? 0 : now.getTime() - Date.parse(failingSince);
    if (!isGone && !(isCounted && failingMs >= MAX_FAILING_MS)) return;
    const reason = isGone ? DISABLED_REASONS.gone : DISABLED_REASONS.failing;
    const run = withAudit(this.#run, { ...BY_USHER, action: 'DisableWebhook', now });
    const [disabled] = await run(disableWebhook, { ...this.#ids, reason, now });
    if (disabled) this.#parts.logger.warn({ ...this.#ids, reason }, 'webhook disabled');
  }

  #backOff(): string {
    const { schedule, clock } = this.#parts;
    return new Date(clock().getTime() + backoffMs(schedule, this.#claim.failedBatches)).toISOString();
  }

  #isAborted({ outcome }: EndedAttempt): boolean {
    return outcome.statusCode === null && this.#claim.lease.signal.aborted;
  }

  get #ids() {
    const { applicationId, webhookId } = this.#claim.lease;
    return { applicationId, webhookId };
  }

  get #run(): Run {
    return this.#parts.database.within(performance.now() + STATEMENT_TIMEOUT_MS);
  }
}

type SettleParameters = PlaceholderValues & { readonly results: readonly DeliveryState[] };

/** One success is enough: the endpoint works. */
function toOutcome(completed: readonly EndedAttempt[]): BatchOutcome | null {
  if (completed.length === 0) return null;
  return completed.some(({ outcome }) => outcome.error === null) ? 'success' : 'failure';
}
