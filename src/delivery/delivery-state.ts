import type { AttemptOutcome } from './http-exchange.ts';
import type { Lease } from './leases.ts';
import type { DueDelivery } from './queue.ts';
import { nextDelayMs, readRetryAfterMs } from './retry-schedule.ts';
import type { DeliveryState } from './settle-statements.ts';

export interface EndedAttempt {
  readonly delivery: DueDelivery;
  readonly at: Date;
  readonly durationMs: number;
  readonly outcome: AttemptOutcome;
}

/** The outcome of an attempt whose message has been removed from the database. */
export const EXPIRED: AttemptOutcome = {
  statusCode: null,
  error: 'The message has expired',
  responseBody: null,
  retryAfter: undefined,
};

/**
 * Whether the endpoint works but does not accept the message. An endpoint that does not answer, or answers 429 or 5xx,
 * fails: it would accept no other message, either.
 */
export function isRefusal({ statusCode }: AttemptOutcome): boolean {
  return statusCode !== null && statusCode >= 300 && statusCode < 500 && statusCode !== 429;
}

export function toDeliveryState(
  { delivery, outcome }: EndedAttempt,
  schedule: readonly number[],
  now: Date,
): DeliveryState {
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

/** Returns the state during a slow attempt: due when the lease ends, so that another process retries after a crash. */
export function markInFlight(delivery: DueDelivery, { end, firstEnd }: Lease): DeliveryState {
  return { ...postpone(delivery, end), lease_end: firstEnd };
}

/** Returns the current state of the delivery with another due time. */
export function postpone(delivery: DueDelivery, dueAt: Date): DeliveryState {
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
