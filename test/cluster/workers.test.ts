/** `WORKERS=2`: several processes that serve as one. */

import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeCertificate } from '../support/certificate.ts';
import { request } from '../support/http.ts';
import { openHttp2Session } from '../support/http2-session.ts';
import { startLoad } from '../support/load.ts';
import { type Main, processesWith, runMain, survivorsOf } from '../support/process.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { readDemo } from '../support/read-demo.ts';
import {
  administer,
  answeringWorkers,
  beginCalls,
  logOf,
  startWorkers,
  waitForWorkers,
  workerPids,
} from '../support/workers.ts';

const directory = await mkdtemp(join(tmpdir(), 'usher-workers-'));
const dataDir = join(directory, 'data');

afterAll(() => rm(directory, { recursive: true, force: true }));

describe('two workers', () => {
  let main: Main;

  beforeAll(async () => {
    main = await startWorkers(dataDir);
  });
  afterAll(() => main[Symbol.asyncDispose]());

  test('share one port, which the public URL has, and the start is told once', async () => {
    const listening = () =>
      logOf(main)
        .filter(({ msg }) => msg === 'listening')
        .map(({ worker = 0, url }) => ({ worker, url }))
        .sort((a, b) => a.worker - b.worker);
    await expect.poll(listening).toEqual([
      { worker: 1, url: main.url },
      { worker: 2, url: main.url },
    ]);
    expect(main.stdout.match(/Usher is at/g)).toHaveLength(1);
    expect(main.stderr).toBe('');

    const { apiKey, clientId, redirectUris } = await readDemo(dataDir);
    for (let call = 0; call < 4; call++) {
      const { body } = await request(main.url, {
        method: 'POST',
        path: `/api/oauth/generate-auth-url?clientId=${clientId}`,
        headers: { 'x-api-key': apiKey },
        body: JSON.stringify({ redirectUri: redirectUris[0], state: 's' }),
      });
      expect(JSON.parse(body).data.authUrl).toMatch(new RegExp(`^${main.url}/login\\?intent=`));
    }
  });

  test('share the connections evenly, and log each call once', async () => {
    const workers = await answeringWorkers(main, 40);
    expect(workers).toHaveLength(40);
    for (const worker of [1, 2]) {
      expect(workers.filter((other) => other === worker).length).toBeGreaterThan(10);
    }
  });

  test('know one demo, and its secrets, all of them', async () => {
    const { apiKey, webhookId, userId } = await readDemo(dataDir);
    const loginIntentId = /\/login\?intent=(\S+)/.exec(main.stdout)?.[1];
    const login = { loginIntentId, userId };
    const { redirectUrl } = await administer<{ redirectUrl: string }>(main, dataDir, 'CompleteLogin', login);
    const { pathname, search } = new URL(redirectUrl);
    for (let call = 0; call < 4; call++) {
      expect((await request(main.url, { path: pathname + search })).body).toContain('You are signed in');
      const webhook = { path: `/api/webhooks/${webhookId}`, headers: { 'x-api-key': apiKey } };
      expect((await request(main.url, webhook)).body).toContain('"signingKey":"whsec_');
    }
  });

  test('refuse a key within 5 seconds after one of them has revoked it', async () => {
    const { applicationId, webhookId } = await readDemo(dataDir);
    const key = await administer<{ apiKeyId: string; apiKey: string }>(main, dataDir, 'CreateApiKey', {
      applicationId,
    });
    const call = () =>
      request(main.url, { path: `/api/webhooks/${webhookId}`, headers: { 'x-api-key': key.apiKey } }).then(
        ({ status }) => status,
      );
    // All know the key, and use it on and on.
    const load = startLoad({ call: async () => String(await call()) }, { callers: 2, pauseMs: 20 });
    await sleep(500);
    expect(new Set(load.answers.map(({ outcome }) => outcome))).toEqual(new Set(['200']));
    await administer(main, dataDir, 'RevokeApiKey', { apiKeyId: key.apiKeyId });
    const revokedAt = performance.now();
    await sleep(6_500);
    const late = (await load.stop()).filter(({ startedAt }) => startedAt > revokedAt + 5_000);
    expect(late.length).toBeGreaterThan(2);
    expect(late.filter(({ outcome }) => outcome !== '401')).toEqual([]);
  });

  test('are as many again after one is ended by SIGTERM, which answers what it has begun', async () => {
    const [pid = 0] = await workerPids(main);
    const calls = await beginCalls(main, await readDemo(dataDir), 4);
    process.kill(pid, 'SIGTERM');
    await sleep(200);
    expect(await Promise.all(calls.map((call) => call.finish()))).toEqual([200, 200, 200, 200]);
    await waitForWorkers(main, 2, [1]);
    expect(await workerPids(main)).not.toContain(pid);
  });

  test('are as many again after one has crashed, and meanwhile nobody waits in vain', async () => {
    const call = () => request(main.url, { path: '/healthz' }).then(({ status }) => String(status));
    // So many that one is always on its way to a worker.
    const load = startLoad({ call }, { callers: 8 });
    const [pid = 0] = await workerPids(main);
    await sleep(300);
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => main.stdout, { interval: 5 }).toContain('"how":"SIGKILL"');
    const toldAt = performance.now();
    await waitForWorkers(main, 2, [2]);
    const answers = await load.stop();
    const after = answers.filter(({ startedAt }) => startedAt > toldAt);
    expect(after.length).toBeGreaterThan(20);
    expect(after.filter(({ outcome }) => outcome !== '200')).toEqual([]);
    // Those that it had when it was killed.
    expect(answers.filter(({ outcome }) => outcome !== '200').length).toBeLessThanOrEqual(8);
  });

  test('are replaced at a pace where one crashes again and again', async () => {
    const [, spared] = await workerPids(main);
    const seen = new Set<number>();
    for (const stopAt = performance.now() + 3_500; performance.now() < stopAt; await sleep(20)) {
      for (const pid of await workerPids(main)) {
        if (pid === spared) continue;
        seen.add(pid);
        process.kill(pid, 'SIGKILL');
      }
    }
    expect(seen.size).toBeGreaterThan(1);
    expect(seen.size).toBeLessThanOrEqual(4);
    expect(await workerPids(main)).toContain(spared);
    await waitForWorkers(main, 2);
  });

  test('answer on the same port after all of them have crashed at once', async () => {
    for (const pid of await workerPids(main)) process.kill(pid, 'SIGKILL');
    await waitForWorkers(main, 2);
    expect(new Set(logOf(main).flatMap(({ url = [] }) => url))).toEqual(new Set([main.url]));
  });

  test('finish what is under way on SIGTERM, and leave nothing behind', async () => {
    const descendants = await main.descendants();
    expect(descendants.size).toBeGreaterThan(3);
    const calls = await beginCalls(main, await readDemo(dataDir), 4);
    const ended = main.end('SIGTERM');
    await sleep(200);
    expect(await Promise.all(calls.map((call) => call.finish()))).toEqual([200, 200, 200, 200]);
    expect(await ended).toBe(0);
    expect(await survivorsOf(descendants)).toEqual([]);
    expect(main.stderr).toBe('');
  });
});

test('a worker that cannot be started is tried again', async () => {
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
  await expect.poll(() => main.stdout).toContain('a worker cannot be started');
  await waitForWorkers(main, 2);
});

test('a Ctrl-C, which reaches every process, ends two workers with 0', async () => {
  await using main = await startWorkers(dataDir);
  const descendants = await main.descendants();
  for (const pid of await workerPids(main)) process.kill(pid, 'SIGINT');
  expect(await main.end('SIGINT')).toBe(0);
  expect(await survivorsOf(descendants)).toEqual([]);
  expect(logOf(main).filter(({ msg }) => msg.startsWith('a worker'))).toEqual([]);
});

describe('two workers over TLS, with a secret from .env,', () => {
  // The demo has a redirect URI of another scheme here.
  const dataDir = join(directory, 'data-over-tls');
  const adminKey = 'an-admin-key-that-nobody-may-see';
  let main: Main;
  let ca: string;

  beforeAll(async () => {
    const files = await writeCertificate(directory);
    ca = await readFile(files.TLS_CERT_FILE, 'utf8');
    main = await startWorkers(dataDir, files, `ADMIN_KEY=${adminKey}\nTRUSTED_PROXIES=127.0.0.1\n`);
  });
  afterAll(() => main[Symbol.asyncDispose]());

  test.each(['http/1.1', 'h2'])('answer %s', async (protocol) => {
    const { port } = new URL(main.url);
    for (let call = 0; call < 4; call++) {
      const socket = connectTls({ host: '127.0.0.1', port: Number(port), ca, ALPNProtocols: [protocol] });
      await once(socket, 'secureConnect');
      if (protocol === 'h2') {
        using session = openHttp2Session(main.url, socket);
        expect((await session.exchange({ ':path': '/readyz' })).status).toBe(200);
      } else {
        using connection = new RawConnection(socket);
        connection.send('GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n');
        expect((await connection.reply()).status).toBe(200);
      }
    }
  });

  test.skipIf(process.platform !== 'linux')('show it neither in their environment nor in their arguments', async () => {
    const pids = await workerPids(main);
    expect(pids).toHaveLength(2);
    for (const pid of pids) {
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8');
      const visible = environment + (await readFile(`/proc/${pid}/cmdline`, 'utf8'));
      expect(environment).toContain('DATA_DIR=');
      expect(visible).not.toContain(adminKey);
      expect(visible).not.toContain(await readFile(join(dataDir, 'postgres-password'), 'utf8'));
    }
  });

  test('are gone, and their Postgres, after kill -9 of the process that started them', async () => {
    const descendants = await main.descendants();
    expect(descendants.size).toBeGreaterThan(3);
    expect(await main.end('SIGKILL')).toBeNull();
    expect(await survivorsOf(descendants)).toEqual([]);
  });
});

test('two workers that cannot have the port say so in one line, and leave nothing behind', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const address = other.address();
  const port = String(typeof address === 'object' ? address?.port : undefined);
  const { exitCode, stderr, stdout } = await runMain({ env: { PORT: port, WORKERS: '2', DATA_DIR: dataDir } });
  other.close();
  expect(stderr).toMatch(/^usher: [^\n]+\n$/);
  expect(stderr).toContain('EADDRINUSE');
  expect(stderr).toContain(port);
  expect(exitCode).toBe(1);
  expect(stdout).toBe('');
  expect(await survivorsOf(await processesWith(dataDir))).toEqual([]);
});
