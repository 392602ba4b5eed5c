/** When a failed attempt is made again. */

/** Standard Webhooks: the delay before each attempt of a message, in seconds. */
export const DEFAULT_SCHEDULE_SECONDS: readonly number[] = [
  0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
];

const MAX_RETRY_AFTER_MS = 24 * 60 * 60_000;
const JITTER = 0.1;

/**
 * Returns the milliseconds until the attempt after `attempts` failed ones, or undefined after the last one. Jitter is
 * added only, so that no attempt comes before what the endpoint has asked for.
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
