/** The delays before the next attempt of a delivery, and before the next batch of a failing queue. */

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
