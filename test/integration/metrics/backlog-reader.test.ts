import { afterEach, expect, test, vi } from 'vitest';
import type { Run } from '../../../src/database/pool/database.ts';
import { createBacklogReader } from '../../../src/metrics/sources.ts';

afterEach(() => vi.useRealTimers());

test('the backlog is read from Postgres at most every 15 seconds, however often it is scraped', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  let statements = 0;
  const run: Run = async () => {
    statements++;
    return [] as never;
  };
  const read = createBacklogReader({ within: () => run });
  await Promise.all([read(), read()]);
  const once = statements;
  expect(once).toBeGreaterThan(0);
  vi.advanceTimersByTime(14_999);
  await read();
  expect(statements).toBe(once);
  vi.advanceTimersByTime(1);
  await read();
  expect(statements).toBe(2 * once);
});
