/** A log that nobody reads: the service goes on, keeps only so much of it, and ends in time all the same. */
import { expect, test } from 'vitest';
import { cloneDatabase } from '../support/database.ts';
import { quickOrLong, report } from '../support/endurance.ts';
import { HttpPool } from '../support/http-pool.ts';
import { UsherProcess } from '../support/usher-process.ts';

/** Several times what a pipe holds, and in the long form several times what the service keeps. */
const CALLS = quickOrLong(3_000, 200_000);
const WARM_UP_CALLS = quickOrLong(1_000, 20_000);
const CALLERS = 16;
/** What the service keeps of the log, twice, since it was heard and is about to be written. */
const MAX_GROWTH_BYTES = 48 * 1024 * 1024;
/** What a closing takes, and what it gives the reader of the log. */
const EXIT_MS = 6_000;

test('a log that nobody reads costs bounded memory, and keeps no process from ending', async (context) => {
  await using database = await cloneDatabase();
  await using service = await UsherProcess.start(database.url);
  using pool = new HttpPool(service, {});
  await makeCalls(pool, WARM_UP_CALLS);
  const before = service.residentBytes();

  service.neglectLog();
  const failed = await makeCalls(pool, CALLS);
  const growth = service.residentBytes() - before;
  const askedAt = performance.now();
  await service.end('SIGTERM');
  const tookMs = performance.now() - askedAt;

  report(context, {
    tried: `${CALLS} calls whose log lines nobody reads, then SIGTERM`,
    lost: failed === 0 ? 'log lines only' : `${failed} calls`,
    figures: `memory +${(growth / 1024 / 1024).toFixed(1)} MB; gone in ${Math.round(tookMs)} ms`,
  });
  expect(failed).toBe(0);
  expect(growth).toBeLessThan(MAX_GROWTH_BYTES);
  expect(tookMs).toBeLessThan(EXIT_MS);
});

/** Resolves to how many of them were not answered as they should be. */
async function makeCalls(pool: HttpPool, count: number): Promise<number> {
  let left = count;
  let failed = 0;
  const keepCalling = async () => {
    while (left-- > 0) if ((await pool.call('GET', '/api/webhooks/wh_0')).status !== 401) failed++;
  };
  await Promise.all(Array.from({ length: CALLERS }, keepCalling));
  return failed;
}
