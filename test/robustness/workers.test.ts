/** With `WORKERS=2`, two processes serve as one, whatever becomes of one of them. */
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { afterAll, expect, test } from 'vitest';
import { writeCertificate } from '../support/certificate.ts';
import { cloneDatabase } from '../support/database.ts';
import { createDirectory } from '../support/directory.ts';
import { HttpPool, request } from '../support/http.ts';
import { startLoad } from '../support/load.ts';
import { LoginBrowser } from '../support/login-browser.ts';
import { startUsher, survivorsOf, type UsherProcess } from '../support/process.ts';
import { ADMIN_KEY, adminClient, beginSession, createTenant, createTestUser } from '../support/service.ts';
import {
  answeringWorkers,
  beginCalls,
  logOf,
  readDemo,
  startWorkers,
  waitForWorkers,
  workerPids,
} from '../support/workers.ts';

const directory = await createDirectory();
const dataDir = join(directory, 'data');
const main = await startWorkers(dataDir, {}, `ADMIN_KEY=${ADMIN_KEY}\n`);
afterAll(() => main[Symbol.asyncDispose]());

test('both listen on one port, and the start is printed once', async () => {
  const listening = () =>
    logOf(main).flatMap(({ msg, worker, url }) => (msg === 'listening' ? [`${worker} ${url}`] : []));
  await expect.poll(() => listening().sort()).toEqual([`1 ${main.url}`, `2 ${main.url}`]);
  expect(main.stdout.match(/^Usher .* is ready/gm)).toHaveLength(1);
  expect(main.stderr).toBe('');
});

test('connections are distributed evenly, and each call is logged once', async () => {
  const workers = await answeringWorkers(main, 24);
  expect(workers).toHaveLength(24);
  for (const worker of [1, 2]) expect(workers.filter((other) => other === worker).length).toBeGreaterThan(5);
});

test('no process opens an inspector or ends on SIGUSR1', async () => {
  for (const pid of [main.pid, ...(await workerPids(main))]) process.kill(pid, 'SIGUSR1');
  // As long as an inspector takes to say that it listens, and then some.
  await sleep(1_000);
  expect(main.stderr).toBe('');
  expect(await answeringWorkers(main, 4)).toHaveLength(4);
});

test('both know the public URL, the demo and its secrets', async () => {
  const { apiKey, clientId, webhookId, userId } = await readDemo(dataDir);
  const headers = { 'x-api-key': apiKey };
  const path = `/api/oauth/generate-auth-url?clientId=${clientId}`;
  const body = JSON.stringify({ redirectUri: `${main.url}/demo/callback`, state: 's' });
  const beginLogin = async () => {
    const reply = await request(main.url, { method: 'POST', path, headers, body });
    return JSON.parse(reply.body).data;
  };
  // With a state that the demo issued.
  const { location = '' } = await new LoginBrowser({ url: main.url }).open('/demo/login');
  const login = { loginIntentId: new URL(location).searchParams.get('intent') ?? '', userId };
  const { redirectUrl } = await adminClient(main).completeLogin(login);
  const { pathname, search } = new URL(redirectUrl);
  for (let call = 0; call < 4; call++) {
    expect((await beginLogin()).authUrl).toMatch(new RegExp(`^${main.url}/login\\?intent=`));
    const browser = new LoginBrowser({ url: main.url });
    expect((await browser.open(pathname + search)).body).toContain('Sign out');
    const webhook = await request(main.url, { path: `/api/webhooks/${webhookId}`, headers });
    expect(webhook.body).toContain('"signingKey":"whsec_');
  }
});

test('a session that one revokes is refused by the other at once', async () => {
  const tenant = await createTenant(main);
  const user = await createTestUser(main);
  // One connection each, and so to one worker each.
  const pools = Array.from({ length: 6 }, () => new HttpPool(main, { 'x-api-key': tenant.apiKey }, { connections: 1 }));
  for (const revoker of pools) {
    const sessionId = await beginSession(main, tenant, user);
    const check = async (pool: HttpPool) =>
      (await pool.call<{ data: { active: boolean } }>('POST', '/api/sessions/check', { sessionId })).body.data.active;
    expect(await Promise.all(pools.map(check))).toEqual(pools.map(() => true));
    await revoker.call('POST', '/api/sessions/revoke', { sessionId });
    expect(await Promise.all(pools.map(check))).toEqual(pools.map(() => false));
  }
  for (const pool of pools) pool[Symbol.dispose]();
});

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
  // Both may crash at once: the next ones listen on the same port. One that does not listen yet would not know it.
  await waitForWorkers(main, 2);
  for (const pid of await workerPids(main)) process.kill(pid, 'SIGKILL');
  await waitForWorkers(main, 2);
  expect(new Set(logOf(main).flatMap(({ url = [] }) => url))).toEqual(new Set([main.url]));
});

/** Sends SIGTERM while it has calls. Expects their answers, and that no process is left. */
async function endWithCalls(main: UsherProcess, application: Parameters<typeof beginCalls>[1]): Promise<void> {
  const descendants = await main.descendants();
  const calls = await beginCalls(main, application, 4);
  const ended = main.end('SIGTERM');
  await sleep(200);
  expect(await Promise.all(calls.map((call) => call.finish()))).toEqual([200, 200, 200, 200]);
  expect(await ended).toBe(0);
  expect(await survivorsOf(descendants)).toEqual([]);
}

test('SIGTERM finishes the calls in flight and leaves no process behind', async () => {
  await endWithCalls(main, await readDemo(dataDir));
  expect(main.stderr).toBe('');
});

test('SIGTERM while one still starts finishes the calls of the other', async () => {
  const block = `
    import cluster from 'node:cluster';
    if (cluster.worker?.id === 2) await new Promise(() => setInterval(() => {}, 1_000));`;
  await using database = await cloneDatabase();
  await using main = await startUsher(database.url, { WORKERS: '2', NODE_OPTIONS: preload(block) });
  const redirectUris = ['https://app.example.com/callback'];
  const tenant = await createTenant(main, { redirectUris });
  await endWithCalls(main, { ...tenant, redirectUris });
  expect(main.errors).toBe('');
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
  await using main = await startWorkers(dataDir, { NODE_OPTIONS: preload(failThird) });
  const [pid = 0] = await workerPids(main);
  process.kill(pid, 'SIGKILL');
  await expect.poll(() => main.stdout).toContain('spawn ENOMEM');
  await waitForWorkers(main, 2);
});

test.each([
  { what: 'kill -9 of the primary', signal: 'SIGKILL', exitCode: null },
  { what: 'a Ctrl-C, which sends SIGINT to each process', signal: 'SIGINT', exitCode: 0 },
] as const)('neither a worker nor Postgres is left after $what', async ({ signal, exitCode }) => {
  await using main = await startWorkers(dataDir);
  const descendants = await main.descendants();
  expect(descendants.size).toBeGreaterThan(3);
  if (signal === 'SIGINT') for (const pid of await workerPids(main)) process.kill(pid, 'SIGINT');
  expect(await main.end(signal)).toBe(exitCode);
  expect(await survivorsOf(descendants)).toEqual([]);
  expect(main.errors).toBe('');
});

test('all workers take a renewed certificate from its files, and keep the one before if it is broken', async () => {
  const directory = await createDirectory();
  await using database = await cloneDatabase();
  const files = await writeCertificate(directory);
  await using main = await startUsher(database.url, { WORKERS: '2', ...files }, { keepsLog: true });
  const served = async () => {
    const prints = new Set<string>();
    for (let connection = 0; connection < 4; connection++) {
      const socket = connect({ host: '127.0.0.1', port: main.port, rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      prints.add(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    }
    return [...prints];
  };
  const workersThatSay = (message: string) =>
    new Set(logOf(main).flatMap(({ msg, worker }) => (msg === message ? [worker] : []))).size;
  const first = await served();
  expect(first).toHaveLength(1);

  await writeFile(files.TLS_CERT_FILE, 'no certificate');
  await expect.poll(() => workersThatSay('certificate not renewed')).toBe(2);
  expect(await served()).toEqual(first);

  await writeCertificate(directory);
  await expect.poll(() => workersThatSay('certificate renewed')).toBe(2);
  const second = await served();
  expect(second).toHaveLength(1);
  expect(second).not.toEqual(first);
});

/** Returns the option of Node that runs the code before Usher's, in each process. */
function preload(code: string): string {
  return `--import=data:text/javascript,${encodeURIComponent(code)}`;
}
