/** A log that nobody takes: the service goes on, keeps only so much of it, and ends in time all the same. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { cloneDatabase } from '../support/database.ts';
import { findFreePort } from '../support/free-port.ts';
import { request } from '../support/http.ts';
import { HttpPool } from '../support/http-pool.ts';
import { REPOSITORY } from '../support/process.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { UsherProcess } from '../support/usher-process.ts';

/** Several times what a pipe holds, and in the long form several times what the service keeps. */
const CALLS = quickOrLong(3_000, 200_000);
const WARM_UP_CALLS = quickOrLong(1_000, 20_000);
const CALLERS = 16;
/** What the service keeps of the log, twice, since it was heard and is about to be written. */
const MAX_GROWTH_BYTES = 48 * 1024 * 1024;
/** What a closing takes, and what it gives the reader of the log. */
const EXIT_MS = 6_000;
/** With a Postgres of its own to end. */
const EMBEDDED_EXIT_MS = 20_000;

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

test('a log whose reader has gone keeps the process neither from serving nor from an orderly end', async () => {
  await using database = await cloneDatabase();
  await using service = await UsherProcess.start(database.url);
  using pool = new HttpPool(service, {});
  service.dropLog();
  for (let round = 0; round < 3; round++) {
    expect(await makeCalls(pool, 100)).toBe(0);
    await sleep(150);
  }
  expect(await service.end('SIGTERM')).toBe(0);
});

// The port may be taken by another test in between.
test('a log on a full disk ends no process, and keeps none from ending', { retry: 1 }, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'usher-log-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  await using full = await open('/dev/full', 'w');
  const port = await findFreePort();
  const child = spawn(process.execPath, [join(REPOSITORY, 'src/main.ts')], {
    cwd: directory,
    env: { PORT: String(port), npm_lifecycle_event: 'start' },
    stdio: ['ignore', full.fd, 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  const url = `http://127.0.0.1:${port}`;
  const isLive = () => request(url, { path: '/healthz' }).then(({ status }) => status, String);
  await expect.poll(isLive, { timeout: 25_000 }).toBe(200);

  using pool = new HttpPool({ url }, {});
  // Batch after batch of lines that cannot be written.
  for (let round = 0; round < 5; round++) {
    expect(await makeCalls(pool, 100)).toBe(0);
    await sleep(150);
  }
  child.kill('SIGTERM');
  expect(await Promise.race([exited, sleep(EMBEDDED_EXIT_MS, 'it is still there')])).toEqual([null, 'SIGKILL']);
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
