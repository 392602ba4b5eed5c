/** What follows from an attempt: the new state of its delivery, and its line in the log of attempts. */
import { findUserOf } from '../domain/webhooks/response-bodies.ts';
import type { AttemptOutcome } from './exchange.ts';
import type { Lease } from './leases.ts';
import type { DueDelivery } from './queue.ts';
import { nextDelayMs, readRetryAfterMs } from './retry-schedule.ts';
import type { LoggedAttempt, Result } from './settle.ts';

export interface Attempted {
  readonly delivery: DueDelivery;
  readonly at: Date;
  readonly durationMs: number;
  readonly outcome: AttemptOutcome;
}

/** The outcome for a delivery whose message has been removed. */
export const EXPIRED: AttemptOutcome = {
  statusCode: null,
  error: 'The message has expired',
  responseBody: null,
  retryAfter: undefined,
};

export function toResult({ delivery, outcome }: Attempted, schedule: readonly number[], now: Date): Result {
  const { statusCode, error, retryAfter } = outcome;
  const scheduleIndex = delivery.scheduleIndex + 1;
  const delayMs = nextDelayMs(schedule, scheduleIndex, readRetryAfterMs(statusCode, retryAfter, now));
  const isOver = error === null || delayMs === undefined || outcome === EXPIRED;
  return {
    message_id: delivery.messageId,
    status: error === null ? 'succeeded' : isOver ? 'failed' : 'pending',
    due_at: isOver ? null : new Date(now.getTime() + delayMs),
    lease_end: null,
    status_code: statusCode,
    error,
    attempt_count: delivery.attemptCount + 1,
    schedule_index: scheduleIndex,
  };
}

export function toLoggedAttempt({ delivery, at, durationMs, outcome }: Attempted): LoggedAttempt {
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

/** Returns the state of a delivery whose attempt is in flight: it is due when the lease ends, in case the process dies. */
export function markInFlight(delivery: DueDelivery, { end, firstEnd }: Lease): Result {
  return { ...postpone(delivery, end), lease_end: firstEnd };
}

/** Returns the state of a delivery that is left as it is, but for when it is due. */
export function postpone(delivery: DueDelivery, dueAt: Date): Result {
  return {
    message_id: delivery.messageId,
    status: 'pending',
    due_at: dueAt,
    lease_end: null,
    status_code: delivery.lastStatusCode,
    error: delivery.lastError,
    attempt_count: delivery.attemptCount,
    schedule_index: delivery.scheduleIndex,
  };
}
