/** Workers that crash, are stopped, or cannot start. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { request } from '../support/http.ts';
import { startLoad } from '../support/load.ts';
import { survivorsOf, type UsherProcess } from '../support/process.ts';
import { ADMIN_KEY, adminClient } from '../support/service.ts';
import { beginCalls, logOf, readDemo, startWorkers, waitForWorkers, workerPids } from '../support/workers.ts';

// Several processes start, which takes long on a busy machine.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

const directory = await mkdtemp(join(tmpdir(), 'usher-workers-'));
const dataDir = join(directory, 'data');

afterAll(() => rm(directory, { recursive: true, force: true }));

describe('of two workers', () => {
  let main: UsherProcess;

  beforeAll(async () => {
    main = await startWorkers(dataDir, {}, `ADMIN_KEY=${ADMIN_KEY}\n`);
  });
  afterAll(() => main[Symbol.asyncDispose]());

  test.skipIf(process.platform !== 'linux')('none has a secret in its environment or arguments', async () => {
    const encryptionKey = (await readFile(join(dataDir, 'encryption-key'), 'utf8')).trim();
    for (const pid of await workerPids(main)) {
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8');
      const visible = environment + (await readFile(`/proc/${pid}/cmdline`, 'utf8'));
      expect(environment).toContain('DATA_DIR=');
      for (const secret of [ADMIN_KEY, encryptionKey]) expect(visible).not.toContain(secret);
    }
  });

  test('one that is stalled holds no revocation up', async () => {
    const { userId } = await readDemo(dataDir);
    const [stalled = 0] = await workerPids(main);
    process.kill(stalled, 'SIGSTOP');
    try {
      // Half of the connections go to the worker that is stalled.
      const calls = Array.from({ length: 4 }, () => adminClient(main).deactivateUser({ userId }));
      await Promise.any(calls);
      process.kill(stalled, 'SIGCONT');
      await Promise.all(calls);
    } finally {
      process.kill(stalled, 'SIGCONT');
      await adminClient(main).reactivateUser({ userId });
    }
  });

  test('one that gets SIGTERM finishes its calls and is replaced', async () => {
    const [pid = 0] = await workerPids(main);
    const calls = await beginCalls(main, await readDemo(dataDir), 4);
    process.kill(pid, 'SIGTERM');
    await sleep(200);
    expect(await Promise.all(calls.map((call) => call.finish()))).toEqual([200, 200, 200, 200]);
    await waitForWorkers(main, 2, [1]);
    expect(await workerPids(main)).not.toContain(pid);
  });

  test('one that crashes is replaced, and only the calls it had fail', async () => {
    // So many callers that one connection is always on its way to a worker.
    const call = () => request(main.url, { path: '/healthz' }).then(({ status }) => String(status));
    const load = startLoad({ call }, { callers: 8 });
    const [pid = 0] = await workerPids(main);
    await expect.poll(() => load.answers.length).toBeGreaterThan(50);
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => main.stdout, { interval: 5 }).toContain('"SIGKILL"');
    const loggedAt = performance.now();
    await waitForWorkers(main, 2, [2]);
    const answers = await load.stop();
    const after = answers.filter(({ startedAt }) => startedAt > loggedAt);
    expect(after.length).toBeGreaterThan(20);
    expect(after.filter(({ outcome }) => outcome !== '200')).toEqual([]);
    expect(answers.filter(({ outcome }) => outcome !== '200').length).toBeLessThanOrEqual(8);
  });

  test('one that crashes again and again is replaced once a second', async () => {
    const [, spared = 0] = await workerPids(main);
    const seen = new Set<number>();
    const startedAt = performance.now();
    while (seen.size < 4) {
      for (const pid of await workerPids(main)) {
        if (pid === spared) continue;
        seen.add(pid);
        process.kill(pid, 'SIGKILL');
      }
      await sleep(20);
    }
    expect(performance.now() - startedAt).toBeGreaterThan(3 * 1_000);
    expect(await workerPids(main)).toContain(spared);
    // Both may crash at once: the next ones listen on the same port.
    for (const pid of await workerPids(main)) process.kill(pid, 'SIGKILL');
    await waitForWorkers(main, 2);
    expect(new Set(logOf(main).flatMap(({ url = [] }) => url))).toEqual(new Set([main.url]));
  });

  test('none is left when each process gets the SIGINT of a Ctrl-C', async () => {
    const descendants = await main.descendants();
    const before = main.errors;
    for (const pid of await workerPids(main)) process.kill(pid, 'SIGINT');
    expect(await main.end('SIGINT')).toBe(0);
    expect(await survivorsOf(descendants)).toEqual([]);
    expect(main.errors).toBe(before);
  });
});

test('a worker whose process cannot be created is started later', async () => {
  const failThird = `
    import cluster from 'node:cluster';
    const { fork } = cluster;
    let forks = 0;
    cluster.fork = (env) => {
      if (++forks === 3) throw new Error('spawn ENOMEM');
      return fork.call(cluster, env);
    };`;
  const preload = `--import=data:text/javascript,${encodeURIComponent(failThird)}`;
  await using main = await startWorkers(dataDir, { NODE_OPTIONS: preload });
  const [pid = 0] = await workerPids(main);
  process.kill(pid, 'SIGKILL');
  await expect.poll(() => main.stdout).toContain('spawn ENOMEM');
  await waitForWorkers(main, 2);
});

test('workers end with their Postgres after kill -9 of the primary', async () => {
  await using main = await startWorkers(dataDir);
  const descendants = await main.descendants();
  expect(descendants.size).toBeGreaterThan(3);
  expect(await main.end('SIGKILL')).toBeNull();
  expect(await survivorsOf(descendants)).toEqual([]);
});
