/** How large the batches of a deletion are, and how long it pauses between them. */

/** The first is that of a first batch. A limit is part of its statement's text, so there are few. */
export const BATCH_SIZES: readonly number[] = [500, 1_000, 2_000, 4_000];

/** Of a batch. Statements wait longer for a slow one than for others. */
const QUICK_MS = 50;
const SLOW_MS = 100;

/** More than the 23,000 a second that 10^9 logins a day leave behind. */
const MAX_ROWS_PER_MS = 30;

/** Returns the next size: on a busy server most of a small batch is waiting, and in a cold cache a large one takes long. */
export function nextBatchSize(size: number, elapsedMs: number): number {
  const index = BATCH_SIZES.indexOf(size) + (elapsedMs < QUICK_MS ? 1 : elapsedMs > SLOW_MS ? -1 : 0);
  return BATCH_SIZES[Math.max(0, index)] ?? size;
}

/** Returns a pause at least as long as the batch, so that the job takes at most half the time of a connection. */
export function pauseAfterBatch(size: number, elapsedMs: number): number {
  return Math.max(elapsedMs, size / MAX_ROWS_PER_MS - elapsedMs);
}
