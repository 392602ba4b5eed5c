/** Starts after a kill, in a clone, and on ports that cannot be used. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts';
import { TcpProxy } from '../../src/testing/tcp-proxy.ts';
import { openDatabase } from '../support/database.ts';
import { createDirectory } from '../support/directory.ts';
import { type Dump, dumpTables } from '../support/dump.ts';
import { LoginBrowser } from '../support/login-browser.ts';
import { startSocketServer } from '../support/mail-server.ts';
import { OwnPostgres } from '../support/own-postgres.ts';
import {
  descendantsOf,
  processesWith,
  REPOSITORY,
  runMain,
  runShell,
  startMain,
  survivorsOf,
  UsherProcess,
} from '../support/process.ts';
import { readDemo } from '../support/read-demo.ts';
import { clientsOf, createSecretFiles, TEST_ENV } from '../support/service.ts';
import { quickOrLong } from '../support/soak.ts';
import { createUnreleasedTables } from '../support/unreleased-tables.ts';

/** A first start on a busy machine takes seconds. */
const POLL = { interval: 20, timeout: 60_000 };

const directory = await createDirectory();
const dataDir = join(directory, 'data');
let started: Promise<UsherProcess> | undefined;
/** Returns the process that the first two tests share. */
const startShared = () => (started ??= startMain({ env: { PORT: '0', DATA_DIR: dataDir } }));
afterAll(async () => (await started)?.[Symbol.asyncDispose]());

test('SIGTERM during the first start leaves no process, and the next start has a demo, with the code in the terminal', async () => {
  await runMain({ env: { PORT: '0', DATA_DIR: dataDir } }, async (kill) => {
    const commands = async () => [...(await processesWith(dataDir)).values()];
    await expect.poll(async () => (await commands()).some(isPostgres), POLL).toBe(true);
    kill('SIGTERM');
  });
  expect(await survivorsOf(await processesWith(dataDir))).toEqual([]);

  const main = await startShared();
  await readWebhook(main.url, dataDir);
  const [, email = ''] = /sign in as (\S+),/.exec(main.stdout) ?? [];
  expect(main.stdout).toContain(`${atLoopback(main)}/demo    sign in as ${email}, `);
  const printed = new RegExp(`^ *E-MAIL to ${email}: (\\d{6}) is your code for Demo$`, 'm');
  await signInToDemo(main, email, async () => {
    await expect.poll(() => main.stdout).toMatch(printed);
    return printed.exec(main.stdout)?.[1] ?? '';
  });
});

test('a start after kill -9 has everything that was acknowledged, and the old Postgres is gone', async () => {
  const killed = await startShared();
  const demo = await readDemo(dataDir);
  const acknowledged: string[] = [];
  const writing = Array.from({ length: 8 }, async () => {
    const { events } = clientsOf(killed, demo);
    for (;;) {
      const eventId = randomUUID();
      await events.createEvent({ eventId });
      acknowledged.push(eventId);
    }
  });
  const stopped = Promise.allSettled(writing);
  const descendants = await killed.descendants();
  expect([...descendants.values()].filter(isPostgres).length).toBeGreaterThan(1);
  while (acknowledged.length < 100) await sleep(1);

  expect(await killed.end('SIGKILL')).toBeNull();
  await using main = await startMain({ env: { PORT: '0', DATA_DIR: dataDir } });
  await stopped;
  expect(await survivorsOf(descendants)).toEqual([]);
  const { events } = clientsOf(main, demo);
  await Promise.all(acknowledged.map((eventId) => events.checkIn({ eventId, attendeeId: 'ada' })));
});

test('data from before 1.0.0 are refused in one line that names their directory, and left untouched', async () => {
  const unreleased = join(directory, 'unreleased');
  const open = async () => {
    const postgres = await startEmbeddedPostgres(unreleased);
    const database = openDatabase(postgres.url);
    const close = async () => {
      await database[Symbol.asyncDispose]();
      await postgres.close();
    };
    return { database, [Symbol.asyncDispose]: close };
  };
  let before: Dump;
  {
    await using opened = await open();
    await createUnreleasedTables(opened.database);
    before = await dumpTables(opened.database);
  }
  const files = await readdir(unreleased);
  const { exitCode, stderr, stdout } = await runMain({ env: { PORT: '0', DATA_DIR: unreleased } });
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr).toBe(
    `usher: The database in ${unreleased} cannot be used: Its tables are from before 1.0.0. There was no release ` +
      'before 1.0.0, so no version carries them over. They were left untouched. To start beside them, ' +
      'set DATA_DIR to another directory\n',
  );
  expect(await readdir(unreleased)).toEqual(files);
  await using opened = await open();
  expect(await dumpTables(opened.database)).toEqual(before);
});

const ownUid = process.getuid?.();
// Root can act as nobody, in a copy: nobody may not enter the home of root.
const allUsers = ownUid === 0 ? [{ uid: 65_534 }, { uid: 0 }] : [{ uid: ownUid }];
// The tests above start it as root in a directory that only root may enter.
const users = quickOrLong(allUsers.slice(0, 1), allUsers);

let clone: string;
beforeAll(async () => {
  clone = await createDirectory();
  await copyProject(clone);
});

test.each(users)('user $uid can run npm start in a clone that only they may enter', async ({ uid }) => {
  expect(await runShell(`rm -rf ${clone}/.data && chown -R ${uid} ${clone}`)).toMatchObject({ exitCode: 0 });
  const npm = spawn('npm', ['start'], {
    cwd: clone,
    env: { PATH: process.env.PATH, HOME: clone, PORT: '0', npm_config_update_notifier: 'false' },
    stdio: ['ignore', 'pipe', 'inherit'],
    ...(uid !== undefined && { uid, gid: uid }),
  });
  const exited = once(npm, 'exit');
  let output = '';
  npm.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  const findUrl = () => / Docs +(\S+)\/docs/.exec(output)?.[1] ?? '';
  await expect.poll(findUrl, POLL).not.toBe('');

  await readWebhook(findUrl(), join(clone, '.data'));
  // Usher exits after npm, and writes its compile cache when it does.
  const started = await descendantsOf(npm.pid ?? 0);
  expect(started.size).toBeGreaterThan(1);
  npm.kill('SIGTERM');
  await exited;
  expect(await survivorsOf(started)).toEqual([]);
});

describe('a start while Postgres is down', () => {
  const startWithout = (proxy: TcpProxy, url: string) =>
    UsherProcess.spawn({ files: createSecretFiles(), env: { ...TEST_ENV, DATABASE_URL: proxy.through(url) } });
  const hasWaited = ({ stdout }: UsherProcess) =>
    stdout.match(/"reason":"connect ECONNREFUSED [^"]*","msg":"migrations wait"/g);

  test('says once that it waits, and serves once Postgres is up', async () => {
    await using postgres = await OwnPostgres.start();
    await using proxy = await TcpProxy.open(postgres.url);
    await proxy.setMode('refuse');
    await using usher = await startWithout(proxy, postgres.url);
    await expect.poll(() => hasWaited(usher), POLL).toHaveLength(1);
    await sleep(1_000);
    await proxy.setMode('pass');
    await expect.poll(() => usher.url, POLL).not.toBe('');
    expect((await fetch(`${usher.url}/readyz`)).status).toBe(200);
    expect(hasWaited(usher)).toHaveLength(1);
    expect(await usher.end('SIGTERM')).toBe(0);
  });

  test('exits with 0 on SIGTERM while it waits', async () => {
    await using proxy = await TcpProxy.open('postgres://usher@127.0.0.1/usher');
    await proxy.setMode('refuse');
    await using usher = await startWithout(proxy, 'postgres://usher@127.0.0.1/usher');
    await expect.poll(() => hasWaited(usher), POLL).toHaveLength(1);
    expect(await usher.end('SIGTERM')).toBe(0);
  });
});

/** Takes from root the right to ports below 1024. */
const AS_USER = ownUid === 0 ? 'setpriv --bounding-set=-net_bind_service' : '';
const ALLOWS_ALL_PORTS =
  (await readFile('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8').catch(() => '')) < '1';

type UnusablePort = readonly [string, Readonly<Record<string, string>>, string];
const UNUSABLE_PORTS: readonly UnusablePort[] = [
  [
    'of the API is taken',
    { PORT: 'TAKEN' },
    'HOST and PORT cannot be used: [^\\n]*EADDRINUSE[^\\n]*:TAKEN; PORT=0 takes a free port',
  ],
  [
    'of the console is taken',
    { CONSOLE_PORT: 'TAKEN' },
    'CONSOLE_HOST and CONSOLE_PORT cannot be used: [^\\n]*EADDRINUSE[^\\n]*:TAKEN; CONSOLE_PORT=0 takes a free port',
  ],
  [
    'of metrics is taken',
    { METRICS_PORT: 'TAKEN' },
    'METRICS_HOST and METRICS_PORT cannot be used: [^\\n]*EADDRINUSE[^\\n]*:TAKEN; METRICS_PORT=0 takes a free port',
  ],
];
/** The same lines of code name other reasons of the system. */
const UNUSABLE_FOR_OTHER_REASONS: readonly UnusablePort[] = [
  [
    'of metrics is not on this machine',
    { METRICS_HOST: '192.0.2.1', METRICS_PORT: 'TAKEN' },
    'METRICS_HOST and METRICS_PORT[^\\n]*EADDRNOTAVAIL[^\\n]*',
  ],
  [
    'of metrics has no such host',
    { METRICS_HOST: 'nowhere.invalid', METRICS_PORT: 'TAKEN' },
    'METRICS_HOST and METRICS_PORT[^\\n]*nowhere.invalid',
  ],
  [
    'of metrics is privileged',
    { METRICS_PORT: '1' },
    'METRICS_HOST and METRICS_PORT cannot be used: [^\\n]*EACCES[^\\n]*:1',
  ],
];

test.each([...UNUSABLE_PORTS, ...quickOrLong([], UNUSABLE_FOR_OTHER_REASONS)])(
  'a port %s: the start stops with one line, before it creates anything',
  async (problem, env, line) => {
    if (problem === 'of metrics is privileged' && ALLOWS_ALL_PORTS) return;
    await using other = await startSocketServer(() => {});
    const taken = String(other.port);
    const unused = join(directory, 'unused');
    const { exitCode, stderr, stdout } = await runShell(`${AS_USER} node src/start.js`, {
      PORT: '0',
      DATA_DIR: unused,
      ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value.replace('TAKEN', taken)])),
    });
    expect(stderr).toMatch(new RegExp(`^usher: ${line.replace('TAKEN', taken)}\\n$`));
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(existsSync(unused)).toBe(false);
  },
);

/** Signs the user of the demo in by code. */
async function signInToDemo(
  service: { readonly url: string },
  email: string,
  readCode: () => Promise<string>,
): Promise<void> {
  const browser = new LoginBrowser({ url: atLoopback(service) });
  const { location: login = '' } = await browser.submit(await browser.open('/demo'), '/demo/login');
  const { pathname, search } = new URL(login);
  const codePage = await browser.submit(await browser.open(pathname + search), '/login/email', { email });
  const { location = '' } = await browser.submit(codePage, '/login/code', { code: await readCode() });
  const callback = new URL(location);
  expect((await browser.open(callback.pathname + callback.search)).heading).toBe('Hello, Ada Lovelace');
}

/** The demo sends browsers at localhost to the place where sign-ins return to. */
function atLoopback({ url }: { readonly url: string }): string {
  return url.replace('localhost', '127.0.0.1');
}

/** Copies what `npm start` needs, Node included. */
async function copyProject(clone: string): Promise<void> {
  const { packages }: { packages: Record<string, { dev?: boolean }> } = JSON.parse(
    await readFile(join(REPOSITORY, 'package-lock.json'), 'utf8'),
  );
  const production = Object.keys(packages).filter((path) => path !== '' && !packages[path]?.dev);
  const paths = ['package.json', 'src', 'gen', 'drizzle', ...production].map((path) => `'${path}'`).join(' ');
  const copied = await runShell(
    `for path in ${paths}; do [ ! -e $path ] || echo $path; done | tar -cf - -T - | tar -xf - -C ${clone}`,
  );
  expect(copied).toMatchObject({ exitCode: 0, stderr: '' });
  await mkdir(join(clone, 'node_modules/.bin'), { recursive: true });
  await cp(process.execPath, join(clone, 'node_modules/.bin/node'));
}

/** Calls with the API key of the demo. */
async function readWebhook(url: string, usedDir: string): Promise<void> {
  const demo = await readDemo(usedDir);
  await clientsOf({ url }, demo).webhooks.getWebhook({ webhookId: demo.webhookId });
}

function isPostgres(command: string): boolean {
  return /\/postgres -D |^postgres: /.test(command);
}
