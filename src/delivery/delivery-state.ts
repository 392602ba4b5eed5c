import type { AttemptOutcome } from './http-exchange.ts';
import type { Lease } from './leases.ts';
import type { DueDelivery } from './queue.ts';
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

const MAX_RETRY_AFTER_MS = 24 * 60 * 60_000;
const JITTER = 0.1;

/**
 * Returns the milliseconds until the next attempt after `attempts` failed ones, or undefined if the schedule has no more.
 * Jitter only lengthens the delay, so that no attempt comes earlier than the endpoint has asked.
 */
export function nextDelayMs(
  schedule: readonly number[],
  attempts: number,
  retryAfterMs = 0,
  random: () => number = Math.random,
): number | undefined {
  const seconds = schedule[attempts];
  if (seconds === undefined) return undefined;
  return Math.max(seconds * 1_000, retryAfterMs) * (1 + JITTER * random());
}

/** Returns the milliseconds that `Retry-After` of a 429 or 503 asks for, at most 24 hours. Returns 0 without one. */
export function readRetryAfterMs(statusCode: number | null, retryAfter: string | undefined, now: Date): number {
  if (retryAfter === undefined || (statusCode !== 429 && statusCode !== 503)) return 0;
  const ms = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - now.getTime();
  return Math.min(Math.max(ms || 0, 0), MAX_RETRY_AFTER_MS);
}

const MAX_BACKOFF_MS = 5 * 60_000;

/**
 * Returns the milliseconds until the next batch of a queue whose attempts all failed. The pause begins at the delay
 * before a second attempt, and doubles with each failed batch, up to the longest delay of the schedule and to five
 * minutes. An endpoint that is down costs one probe per pause, however many messages wait.
 */
export function backoffMs(schedule: readonly number[], failedBatches: number): number {
  const [, first = 0] = schedule;
  const longest = Math.max(0, ...schedule) * 1_000;
  return Math.min(first * 1_000 * 2 ** Math.min(failedBatches, 20), longest, MAX_BACKOFF_MS);
}
