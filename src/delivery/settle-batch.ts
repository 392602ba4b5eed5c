/** Settles a batch: stores results, releases the queue, logs attempts, and disables a webhook that has failed for days. */

import { sql } from 'drizzle-orm';
import type { Logger } from 'pino';
import {
  DatabaseUnavailableError,
  type PlaceholderValues,
  type Run,
  type Statement,
} from '../database/pool/database.ts';
import { DAY_MS } from '../database/schema/table-facts.ts';
import { p, statement } from '../database/sql/template.ts';
import { auditEvent, BY_USHER, withAudit } from '../domain/audit/audit-event.ts';
import { findUserOf, removeBodiesOfErased } from '../domain/users/personal-data.ts';
import { pause } from '../pause.ts';
import {
  backoffMs,
  type EndedAttempt,
  EXPIRED,
  isRefusal,
  markInFlight,
  postpone,
  toDeliveryState,
} from './delivery-state.ts';
import type { Lease } from './leases.ts';
import type { ClaimedQueue, DueDelivery } from './queue.ts';
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

/** A webhook is disabled when every delivery has failed for this long. */
const MAX_FAILING_MS = 5 * DAY_MS;

/** Returns the reason to disable the webhook after these attempts, or undefined. */
function reasonToDisable(completed: readonly EndedAttempt[], failingSince: Date | null, now: Date): string | undefined {
  if (completed.some(({ outcome }) => outcome.statusCode === 410)) return 'The endpoint answered with status 410';
  const isCounted = completed.some(({ delivery }) => !delivery.isManual);
  const failingMs = failingSince === null ? 0 : now.getTime() - failingSince.getTime();
  return isCounted && failingMs >= MAX_FAILING_MS ? 'Every delivery failed for 5 days' : undefined;
}

/** Keeps deliveries pending. Changes nothing if the webhook is inactive or deleted. Run this with `withAudit`. */
const disableWebhook = statement('disable_webhook')`
  with disabled as (
    update webhooks set is_active = false, disabled_reason = ${p.text('reason')}, updated_at = ${p.instant('now')}
    where application_id = ${p.uuid('applicationId')} and id = ${p.text('webhookId')} and is_active
    returning id
  ), stopped as (
    update webhook_queues set next_at = null, lease = null
    where application_id = ${p.uuid('applicationId')} and webhook_id = ${p.text('webhookId')}
      and exists (select 1 from disabled)
  ), ${auditEvent({ resource: sql`id`, from: sql`disabled` })}
  select from disabled`;

async function logAttempts(
  run: Run,
  ids: { readonly applicationId: string; readonly webhookId: string },
  completed: readonly EndedAttempt[],
): Promise<void> {
  if (completed.length === 0) return;
  const attempts = completed.map(toLoggedAttempt);
  await run(insertAttempts, { ...ids, attempts });
  // An erasure that ran concurrently has not seen the inserted response bodies.
  const userIds = attempts.flatMap(({ user_id }) => user_id ?? []);
  if (userIds.length > 0) await run(removeBodiesOfErased, { ...ids, userIds });
}

/** Returns the row of an attempt, with the column names as keys. */
function toLoggedAttempt({ delivery, at, durationMs, outcome }: EndedAttempt) {
  return {
    message_id: delivery.messageId,
    attempted_at: at,
    duration_ms: durationMs,
    status_code: outcome.statusCode,
    error: outcome.error,
    response_body: outcome.responseBody,
    user_id: outcome.responseBody ? findUserOf(delivery) : null,
  };
}

const insertAttempts = statement('insert_attempts')`
  insert into webhook_attempts
    (application_id, webhook_id, message_id, attempted_at, duration_ms, status_code, error, response_body, user_id)
  select ${p.uuid('applicationId')}, ${p.text('webhookId')}, attempt.*
  from json_to_recordset(${p.json('attempts')}) as attempt (message_id bigint, attempted_at timestamptz,
    duration_ms integer, status_code smallint, error text, response_body text, user_id uuid)
  -- A write that returns no rows would wait for a later commit: see PrimaryLease.
  returning id`;
