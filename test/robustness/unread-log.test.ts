/** A log that nobody reads, or that cannot be written: the service goes on, keeps a bounded part, and ends in time. */
import { open } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { cloneDatabase } from '../support/database.ts';
import { findFreePort } from '../support/free-port.ts';
import { HttpPool } from '../support/http.ts';
import { optionsFor, startUsher, UsherProcess } from '../support/process.ts';
import { ADMIN_KEY } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

/** Several times what a pipe holds; in the long form, several times what the service keeps. */
const CALLS = quickOrLong(800, 200_000);
const WARM_UP_CALLS = quickOrLong(100, 20_000);
const CALLERS = 16;
/** What the service keeps of the log, before and after it is formatted. All lines of the short form are less than that: only the long form judges it. */
const MAX_GROWTH_BYTES = 48 * 1024 * 1024;
/** What a shutdown takes, and what it allows the reader of the log. The long form judges it. */
const EXIT_MS = 6_000;

test('a log that nobody reads takes bounded memory and does not delay the exit', async (context) => {
  await using database = await cloneDatabase();
  await using service = await startUsher(database.url);
  using pool = new HttpPool(service, { 'x-admin-key': ADMIN_KEY });
  await makeCalls(pool, WARM_UP_CALLS);
  const before = service.residentBytes();

  service.pauseLog();
  const failed = await makeCalls(pool, CALLS);
  const growth = service.residentBytes() - before;
  const askedAt = performance.now();
  const exitCode = await service.end('SIGTERM');
  const tookMs = performance.now() - askedAt;

  report(context, {
    tried: `${CALLS} calls whose log lines nobody reads, then SIGTERM`,
    lost: `${failed} calls`,
    figures: `memory +${(growth / 1024 / 1024).toFixed(1)} MB; exit after ${Math.round(tookMs)} ms`,
  });
  expect(failed).toBe(0);
  if (quickOrLong(false, true)) expect(growth).toBeLessThan(MAX_GROWTH_BYTES);
  // It gives up the log and ends itself.
  expect(exitCode).toBe(null);
  if (quickOrLong(false, true)) expect(tookMs).toBeLessThan(EXIT_MS);
});

test('a log whose reader has closed the pipe affects neither calls nor the exit', async () => {
  await using database = await cloneDatabase();
  await using service = await startUsher(database.url);
  using pool = new HttpPool(service, { 'x-admin-key': ADMIN_KEY });
  service.closeLog();
  expect(await makeCalls(pool, 300)).toBe(0);
  expect(await service.end('SIGTERM')).toBe(0);
});

test('a log on a full disk affects no calls, and SIGTERM still ends the process', async () => {
  await using database = await cloneDatabase();
  await using full = await open('/dev/full', 'w');
  const port = String(await findFreePort());
  const options = optionsFor(database.url, { PORT: port });
  await using service = await UsherProcess.spawn({ ...options, stdoutFd: full.fd });
  using pool = new HttpPool({ url: `http://127.0.0.1:${port}` }, { 'x-admin-key': ADMIN_KEY });
  const readiness = () => pool.call('GET', '/readyz').catch(() => undefined);
  await expect.poll(readiness, { timeout: 240_000 }).toMatchObject({ status: 200 });
  // Batches of lines, none of which can be written.
  expect(await makeCalls(pool, 300)).toBe(0);
  // It gives up the log and ends itself.
  expect(await service.end('SIGTERM')).toBe(null);
});

/** Makes calls with a credential: each has a line. Resolves to the number of those that did not get the expected reply. */
async function makeCalls(pool: HttpPool, count: number): Promise<number> {
  let left = count;
  let failed = 0;
  const keepCalling = async () => {
    while (left-- > 0) {
      const { status } = await pool.call('POST', '/usher.v1.AdminService/DeleteUser', { userId: 'none' });
      if (status !== 400) failed++;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, keepCalling));
  return failed;
}
