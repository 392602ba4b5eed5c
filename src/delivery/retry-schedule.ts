/** When a delivery is attempted again. */

const MAX_RETRY_AFTER_MS = 24 * 60 * 60_000;
const JITTER = 0.1;

/**
 * Returns the milliseconds until the attempt after `attempts` failed ones, or undefined after the last one. Jitter only
 * lengthens the delay, so that no attempt comes earlier than the endpoint asked.
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

/** Returns the milliseconds that a `Retry-After` of 429 or 503 asks for, up to 24 hours; 0 if there is none. */
export function readRetryAfterMs(statusCode: number | null, retryAfter: string | undefined, now: Date): number {
  if (retryAfter === undefined || (statusCode !== 429 && statusCode !== 503)) return 0;
  const ms = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - now.getTime();
  return Math.min(Math.max(ms || 0, 0), MAX_RETRY_AFTER_MS);
}

const MAX_BACKOFF_MS = 5 * 60_000;

/**
 * Returns the pause after batches in which every attempt failed: the first delay of the schedule, doubled with each
 * batch, up to its longest delay and to five minutes. An endpoint that is down costs one probe per pause, however many
 * messages wait.
 */
export function backoffMs(schedule: readonly number[], failedBatches: number): number {
  const [, first = 0] = schedule;
  const longest = Math.max(0, ...schedule) * 1_000;
  return Math.min(first * 1_000 * 2 ** Math.min(failedBatches, 20), longest, MAX_BACKOFF_MS);
}
