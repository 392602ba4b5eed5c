import { expect, test } from 'vitest';
import { nextBatchSize, pauseAfterBatch } from '../../../src/jobs/expiring-rows.ts';

/** Returns the size that batches come to, and how many thousand rows they remove a second. */
function settle({ fixedMs, rowMs }: { fixedMs: number; rowMs: number }) {
  let size = 500;
  let rows = 0;
  let ms = 0;
  for (let batch = 0; batch < 100; batch++) {
    const elapsedMs = fixedMs + size * rowMs;
    rows += size;
    ms += elapsedMs + pauseAfterBatch(size, elapsedMs);
    size = nextBatchSize(size, elapsedMs);
  }
  return { size, thousandPerSecond: Math.round(rows / ms) };
}

test.each([
  ['quick', { fixedMs: 2, rowMs: 0.002 }, { size: 4_000, thousandPerSecond: 30 }],
  ['busy, so that a batch waits for its turns', { fixedMs: 40, rowMs: 0.004 }, { size: 4_000, thousandPerSecond: 30 }],
  ['reading rows from all over a table', { fixedMs: 2, rowMs: 0.02 }, { size: 4_000, thousandPerSecond: 24 }],
  ['reading from a slow disk', { fixedMs: 5, rowMs: 1 }, { size: 500, thousandPerSecond: 0 }],
])('removes as much as half the time of a connection allows, while Postgres is %s', (_, costs, expected) => {
  expect(settle(costs)).toEqual(expected);
});

test('returns to small batches as soon as a large one is slow', () => {
  expect([4_000, 2_000, 1_000, 500].map((size) => nextBatchSize(size, 3_000))).toEqual([2_000, 1_000, 500, 500]);
});
