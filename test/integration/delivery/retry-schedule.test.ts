import { describe, expect, test } from 'vitest';
import { backoffMs, nextDelayMs, readRetryAfterMs } from '../../../src/delivery/delivery-state.ts';

const DAY_MS = 24 * 60 * 60_000;
const SCHEDULE = [0, 5, 300];
const NOW = new Date('2026-03-01T12:00:00Z');

describe('the next delay', () => {
  test.each([
    { name: 'is that of the schedule', attempts: 1, retryAfterMs: 0, delayMs: 5_000 },
    { name: 'is what the endpoint asks for, if longer', attempts: 1, retryAfterMs: 60_000, delayMs: 60_000 },
    { name: 'is that of the schedule, if longer', attempts: 2, retryAfterMs: 60_000, delayMs: 300_000 },
    { name: 'does not exist after the last attempt', attempts: 3, retryAfterMs: 60_000, delayMs: undefined },
  ])('$name', ({ attempts, retryAfterMs, delayMs }) => {
    expect(nextDelayMs(SCHEDULE, attempts, retryAfterMs, () => 0)).toBe(delayMs);
  });

  test('has jitter of up to a tenth, which only adds', () => {
    expect(nextDelayMs(SCHEDULE, 1, 0, () => 1)).toBeCloseTo(5_500);
  });
});

describe('Retry-After', () => {
  test.each([
    { statusCode: 429, value: '7', ms: 7_000 },
    { statusCode: 503, value: '7', ms: 7_000 },
    { statusCode: 500, value: '7', ms: 0 },
    { statusCode: null, value: '7', ms: 0 },
    { statusCode: 503, value: undefined, ms: 0 },
    { statusCode: 503, value: 'Sun, 01 Mar 2026 12:01:00 GMT', ms: 60_000 },
    { statusCode: 503, value: 'Sun, 01 Mar 2026 11:00:00 GMT', ms: 0 },
    { statusCode: 503, value: 'soon', ms: 0 },
    { statusCode: 503, value: '-5', ms: 0 },
    { statusCode: 503, value: '9'.repeat(400), ms: DAY_MS },
  ])('$value with status $statusCode asks for $ms ms', ({ statusCode, value, ms }) => {
    expect(readRetryAfterMs(statusCode, value, NOW)).toBe(ms);
  });
});

test('an endpoint that is down is left alone for longer and longer, up to five minutes', () => {
  expect([0, 1, 2, 20, 1_000].map((failed) => backoffMs([0, 5, 3_600], failed))).toEqual([
    5_000, 10_000, 20_000, 300_000, 300_000,
  ]);
  expect(backoffMs([0], 3)).toBe(0);
});
