/** The sizes of batches, and the pauses between them. */

/**
 * Rows per batch. There are only a few sizes, because each has its own prepared statement. A run begins with the first.
 */
export const BATCH_SIZES: readonly number[] = [500, 1_000, 2_000, 4_000];

/** After a quicker batch the next one is larger. */
const QUICK_MS = 50;
/** After a slower batch, which delays other statements, the next one is smaller. */
const SLOW_MS = 100;

/** 30,000 rows a second: more than the 23,000 that 10^9 logins a day leave. */
const MAX_ROWS_PER_MS = 30;

/**
 * Returns the size of the next batch. On a busy server small batches mostly wait; with a cold cache large ones are
 * slow.
 */
export function nextBatchSize(size: number, elapsedMs: number): number {
  const index = BATCH_SIZES.indexOf(size) + (elapsedMs < QUICK_MS ? 1 : elapsedMs > SLOW_MS ? -1 : 0);
  return BATCH_SIZES[Math.max(0, index)] ?? size;
}

/**
 * Returns a pause in milliseconds, at least as long as the batch, so that the job uses a connection at most half of the
 * time.
 */
export function pauseAfterBatch(size: number, elapsedMs: number): number {
  return Math.max(elapsedMs, size / MAX_ROWS_PER_MS - elapsedMs);
}
