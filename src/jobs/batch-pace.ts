/** The sizes of batches, and the pauses between them. */

/** Each size has its own prepared statement, so there are few. A run begins with the first. */
export const BATCH_SIZES: readonly number[] = [500, 1_000, 2_000, 4_000];

/** A batch that takes longer than SLOW_MS delays other statements. */
const QUICK_MS = 50;
const SLOW_MS = 100;

/** More than the 23,000 a second that 10^9 logins a day leave behind. */
const MAX_ROWS_PER_MS = 30;

/** Adapts the size: on a busy server small batches mostly wait, and with a cold cache large ones take long. */
export function nextBatchSize(size: number, elapsedMs: number): number {
  const index = BATCH_SIZES.indexOf(size) + (elapsedMs < QUICK_MS ? 1 : elapsedMs > SLOW_MS ? -1 : 0);
  return BATCH_SIZES[Math.max(0, index)] ?? size;
}

/** The pause is at least as long as the batch, so that the job occupies a connection for half of the time at most. */
export function pauseAfterBatch(size: number, elapsedMs: number): number {
  return Math.max(elapsedMs, size / MAX_ROWS_PER_MS - elapsedMs);
}
