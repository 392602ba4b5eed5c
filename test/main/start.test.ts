import { spawnSync } from 'node:child_process';
/** `node src/main.ts` as a developer or an operator runs it: what it prints, keeps and leaves. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chown, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeCertificate } from '../support/certificate.ts';
import { findFreePort } from '../support/free-port.ts';
import { request } from '../support/http.ts';
import { type Main, NOBODY, processesWith, runMain, runShell, startMain, survivorsOf } from '../support/process.ts';
import { readDemo } from '../support/read-demo.ts';

const isRoot = process.getuid?.() === 0;

let directory: string;
/** Used by one start after the other, as a developer's is. */
let dataDir: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'usher-start-'));
  dataDir = join(directory, 'deeper', 'data');
});

afterAll(() => rm(directory, { recursive: true, force: true }));

/** The commands are for a shell that has it. */
const hasCurl = spawnSync('curl', ['--version']).status === 0;

describe('the first start', () => {
  let main: Main;

  beforeAll(async () => {
    main = await startMain({ env: { PORT: '0', DATA_DIR: dataDir } });
  });

  afterAll(() => main[Symbol.asyncDispose]());

  test('prints where it is and where it keeps its data', () => {
    expect(main.url).toMatch(/^http:\/\/localhost:\d+$/);
    expect(main.stdout).toContain(
      `\nUsher is at ${main.url}, on a Postgres of its own. Data and secrets are in ${dataDir}.\n`,
    );
  });

  test.each(['admin-key', 'auth-signing-keys.json', 'encryption-key', 'demo.json', 'postgres-password'])(
    'keeps %s for its owner alone',
    async (name) => {
      const { mode } = await stat(join(dataDir, name));
      expect((mode & 0o777).toString(8)).toBe('600');
    },
  );

  test('keeps its data directory for its owner alone', async () => {
    const { mode } = await stat(dataDir);
    expect((mode & 0o777).toString(8)).toBe('700');
  });

  test('works below a directory that nobody else may enter', async () => {
    const { mode } = await stat(directory);
    expect((mode & 0o777).toString(8)).toBe('700');
    expect(await callWebhook(main, dataDir)).toMatchObject({ status: true });
  });

  test('makes an admin key of at least 32 characters, which works', async () => {
    const adminKey = (await readFile(join(dataDir, 'admin-key'), 'utf8')).trim();
    expect(adminKey.length).toBeGreaterThanOrEqual(32);
    const reply = await request(main.url, {
      method: 'POST',
      path: '/usher.v1.AdminService/CreateApplication',
      headers: { 'content-type': 'application/json', 'x-admin-key': adminKey },
      body: JSON.stringify({ name: 'Another', redirectUris: ['https://app.test/callback'] }),
    });
    expect(reply.status).toBe(200);
  });

  test('writes nothing on stderr, and on stdout no secret but what the commands need', async () => {
    const [adminKey = '', encryptionKey = ''] = await Promise.all(
      ['admin-key', 'encryption-key'].map(async (name) => (await readFile(join(dataDir, name), 'utf8')).trim()),
    );
    expect(main.stderr).toBe('');
    expect(main.stdout).not.toContain(adminKey);
    expect(main.stdout).not.toContain(encryptionKey);
    expect(main.stdout).not.toContain(await readFile(join(dataDir, 'postgres-password'), 'utf8'));
  });

  test.skipIf(!hasCurl && !process.env.CI)('prints eight commands, which work as they are', async () => {
    const { apiKey, clientId, webhookId } = await readDemo(dataDir);
    expect(main.commands).toHaveLength(8);
    const replies = [];
    for (const command of main.commands) {
      const { exitCode, stdout } = await runShell(command);
      expect({ command, exitCode }).toEqual({ command, exitCode: 0 });
      replies.push(JSON.parse(stdout));
    }

    const [authUrl, exchange, webhook, deletion, rpcAuthUrl, rpcExchange, rpcWebhook, rpcDeletion] = replies;
    const user = { email: expect.stringMatching(/^ada\.[0-9a-f]{8}@example\.com$/), name: 'Ada Lovelace' };
    expect(authUrl).toMatchObject({ status: true, message: 'Auth URL generated successfully' });
    expect(authUrl.data.authUrl).toBe(`${main.url}/login?intent=${authUrl.data.loginIntentId}`);
    expect(exchange).toMatchObject({ status: true, message: 'Token exchanged successfully', data: { user } });
    expect(webhook).toMatchObject({
      status: true,
      message: 'Webhook retrieved successfully',
      data: { webhookId, application: { name: 'Demo', clientId }, owner: { name: 'Ada Lovelace' } },
    });
    expect(deletion).toEqual({ status: true, message: 'Event deleted successfully' });
    expect(rpcAuthUrl.authUrl).toBe(`${main.url}/login?intent=${rpcAuthUrl.loginIntentId}`);
    expect(rpcExchange).toMatchObject({ user, session: { id: exchange.data.session.id } });
    expect(rpcWebhook).toMatchObject({ webhook: { webhookId, signingKey: webhook.data.signingKey } });
    expect(rpcDeletion).toEqual({});
    for (const command of main.commands) expect(command).toContain(apiKey);
  });

  test('is one process, but for Postgres', async () => {
    const commands = [...(await main.descendants()).values()];
    expect(commands.filter((command) => command.includes('.ts'))).toEqual([]);
    expect(main.stdout).not.toContain('"worker":');
  });

  test('ends with 0 on SIGTERM and leaves no Postgres', async () => {
    const descendants = await main.descendants();
    expect([...descendants.values()].filter(isPostgres).length).toBeGreaterThan(1);

    expect(await main.end('SIGTERM')).toBe(0);
    expect([...(await processesWith(dataDir)).values()].filter(isPostgres)).toEqual([]);
    expect(await survivorsOf(descendants)).toEqual([]);
  });
});

describe('another start on the same data', () => {
  test('serves the same webhook to the same API key, and SIGINT ends it too', async () => {
    const env = { PORT: '0', DATA_DIR: dataDir };
    await using before = await startMain({ env });
    const webhook = await callWebhook(before, dataDir);
    expect(webhook).toMatchObject({ status: true, data: { isActive: true } });
    expect(await before.end('SIGTERM')).toBe(0);

    await using main = await startMain({ env });
    expect(main.commands).toEqual([expect.stringMatching(/^curl -s http:\/\/localhost:\d+\/api\/webhooks\/wh_/)]);
    const { exitCode, stdout } = await runShell(main.commands[0] ?? '');
    expect({ exitCode, reply: JSON.parse(stdout) }).toEqual({ exitCode: 0, reply: webhook });
    expect(await main.end('SIGINT')).toBe(0);
  });

  test('has, right after kill -9, everything that was acknowledged, and kill -9 leaves no Postgres', async () => {
    const env = { PORT: '0', DATA_DIR: dataDir };
    await using killed = await startMain({ env });
    const { apiKey } = await readDemo(dataDir);
    const acknowledged: string[] = [];
    const writing = Array.from({ length: 8 }, async () => {
      for (;;) {
        const eventId = randomBytes(8).toString('hex');
        const { status } = await callEvents(killed, 'CreateEvent', apiKey, { eventId });
        if (status === 200) acknowledged.push(eventId);
      }
    });
    const stopped = Promise.allSettled(writing);
    const descendants = await killed.descendants();
    expect([...descendants.values()].filter(isPostgres).length).toBeGreaterThan(1);
    while (acknowledged.length < 100) await sleep(1);

    expect(await killed.end('SIGKILL')).toBeNull();
    await using main = await startMain({ env });
    await stopped;
    expect(await survivorsOf(descendants)).toEqual([]);
    expect(await callWebhook(main, dataDir)).toMatchObject({ status: true });
    const replies = await Promise.all(
      acknowledged.map((eventId) => callEvents(main, 'CheckIn', apiKey, { eventId, attendeeId: 'ada' })),
    );
    expect(replies.filter(({ status }) => status !== 200)).toEqual([]);
  });
});

test('SIGTERM in the middle of the first start leaves nothing behind, and the next start succeeds', async () => {
  const interrupted = join(directory, 'interrupted');
  await runMain({
    env: { PORT: '0', DATA_DIR: interrupted },
    async whileRunning(kill) {
      const commands = async () => [...(await processesWith(interrupted)).values()];
      await expect.poll(async () => (await commands()).some(isPostgres), { interval: 5 }).toBe(true);
      kill('SIGTERM');
    },
  });
  expect(await survivorsOf(await processesWith(interrupted))).toEqual([]);

  await using main = await startMain({ env: { PORT: '0', DATA_DIR: interrupted } });
  expect(await callWebhook(main, interrupted)).toMatchObject({ status: true });
});

test('the demo stands in the way of no address and no scheme', async () => {
  const kept = join(directory, 'kept');
  const tls = await writeCertificate(directory);
  // An address that is no loopback address to an application, and then another scheme.
  for (const env of [{ HOST: '127.0.0.2' }, tls]) {
    await using main = await startMain({ env: { PORT: '0', DATA_DIR: kept, ...env } });
    expect(main.commands.length).toBeGreaterThan(0);
    expect(main.stdout).not.toContain('in a browser');
    expect(await main.end('SIGTERM')).toBe(0);
  }
});

test('an unprivileged user may run it', async () => {
  // Where we are not root we are such a user ourselves.
  const uid = isRoot ? NOBODY : undefined;
  const home = await mkdtemp(join(tmpdir(), 'usher-nobody-'));
  try {
    if (uid !== undefined) await chown(home, uid, uid);
    const own = join(home, 'data');
    await using main = await startMain({ env: { PORT: '0', DATA_DIR: own }, uid });

    expect(await callWebhook(main, own)).toMatchObject({ status: true });
    expect((await stat(join(own, 'admin-key'))).uid).toBe(uid ?? process.getuid?.());
    const descendants = await main.descendants();
    expect(await main.end('SIGTERM')).toBe(0);
    expect(await survivorsOf(descendants)).toEqual([]);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});

describe('settings', () => {
  test('are read from .env, and the environment goes before it', async () => {
    const dotEnv = `PORT=1\nDATA_DIR=${dataDir}\nPUBLIC_URL=https://usher.test\nLOG_LEVEL=silent\n`;
    await using main = await startMain({ env: { PORT: '0' }, dotEnv });

    expect(main.stdout).toContain(`Data and secrets are in ${dataDir}.`);
    expect(main.stdout).not.toContain('"level"');
    const { apiKey, clientId, redirectUris } = await readDemo(dataDir);
    const { body } = await request(main.url, {
      method: 'POST',
      path: `/api/oauth/generate-auth-url?clientId=${clientId}`,
      headers: { 'x-api-key': apiKey },
      body: JSON.stringify({ redirectUri: redirectUris[0], state: 's' }),
    });
    expect(JSON.parse(body).data.authUrl).toMatch(/^https:\/\/usher\.test\/login\?intent=/);
  });
});

describe('a start that cannot succeed says why in one line and leaves nothing behind', () => {
  const SECRETS = ['ADMIN_KEY', 'AUTH_SIGNING_KEYS_FILE', 'ENCRYPTION_KEY_FILE'];

  test('a port that is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    try {
      await once(other, 'listening');
      const address = other.address();
      const port = String(typeof address === 'object' ? address?.port : undefined);
      await expectRefusal({ PORT: port, DATA_DIR: dataDir }, [port, 'EADDRINUSE'], dataDir);
    } finally {
      other.close();
    }
  });

  test('a database that cannot be reached', async () => {
    const port = await findFreePort();
    const env = {
      DATABASE_URL: `postgres://usher:the-password@127.0.0.1:${port}/usher`,
      ...secretsOf(dataDir),
    };

    const stderr = await expectRefusal(env, [`127.0.0.1:${port}`]);
    expect(stderr).not.toContain('the-password');
  });

  test('a database that refuses the password', async () => {
    await using main = await startMain({ env: { PORT: '0', DATA_DIR: dataDir } });
    const [server = ''] = [...(await main.descendants()).values()].filter((command) => command.includes(' port='));
    const port = / port=(\d+)/.exec(server)?.[1];
    const env = {
      DATABASE_URL: `postgres://usher:the-password@127.0.0.1:${port}/postgres`,
      ...secretsOf(dataDir),
    };

    const stderr = await expectRefusal(env, ['password authentication failed']);
    expect(stderr).not.toContain('the-password');
  });

  test('a database without secrets', () =>
    expectRefusal({ DATABASE_URL: 'postgres://usher@127.0.0.1:1/usher' }, SECRETS));

  test('several settings that are invalid, at once', () => {
    const env = {
      PORT: '99999',
      PUBLIC_URL: 'ftp://usher.test',
      AUTH_PAGE_URL: 'login',
      DATABASE_URL: 'mysql://localhost',
      ADMIN_KEY: 'short',
      AUTH_SIGNING_KEYS_FILE: '/nowhere/keys.json',
      ENCRYPTION_KEY_FILE: '/nowhere/key',
      TRUSTED_PROXIES: '127.0.0.1, everyone',
      DATABASE_CONNECTIONS: '0',
      LOG_LEVEL: 'loud',
      REQUEST_TIMEOUT_MS: '-1',
      SHUTDOWN_TIMEOUT_MS: 'soon',
      TLS_CERT_FILE: '/nowhere/cert.pem',
    };
    return expectRefusal(env, [...Object.keys(env), 'TLS_KEY_FILE']);
  });

  test('a data directory that is a file', async () => {
    const file = join(directory, 'a-file');
    await writeFile(file, '');
    await expectRefusal({ PORT: '0', DATA_DIR: file }, [file], file);
  });

  test.each(['auth-signing-keys.json', 'encryption-key'])('a broken %s in the data directory', async (name) => {
    const file = join(dataDir, name);
    const good = await readFile(file);
    try {
      await writeFile(file, 'broken');
      await expectRefusal({ PORT: '0', DATA_DIR: dataDir }, [name], dataDir);
    } finally {
      await writeFile(file, good);
    }
  });

  async function expectRefusal(env: Record<string, string>, named: string[], dataDir?: string): Promise<string> {
    const { exitCode, stderr, stdout } = await runMain({ env });
    expect(stderr).toMatch(/^usher: [^\n]+\n$/);
    for (const text of named) expect(stderr).toContain(text);
    expect(exitCode).toBe(1);
    expect(stdout).not.toContain('Usher is at');
    if (dataDir) expect(await survivorsOf(await processesWith(dataDir))).toEqual([]);
    return stderr;
  }

  /** Settings that name good files, so that only the database is wrong. */
  function secretsOf(directory: string): Record<string, string> {
    return {
      ADMIN_KEY: 'a'.repeat(32),
      AUTH_SIGNING_KEYS_FILE: join(directory, 'auth-signing-keys.json'),
      ENCRYPTION_KEY_FILE: join(directory, 'encryption-key'),
    };
  }
});

async function callWebhook(main: Main, dataDir: string): Promise<unknown> {
  const { apiKey, webhookId } = await readDemo(dataDir);
  const { body } = await request(main.url, { path: `/api/webhooks/${webhookId}`, headers: { 'x-api-key': apiKey } });
  return JSON.parse(body);
}

function callEvents(main: Main, method: string, apiKey: string, fields: Record<string, string>) {
  return request(main.url, {
    method: 'POST',
    path: `/usher.v1.EventService/${method}`,
    headers: { 'content-type': 'application/json', 'x-api-key': apiKey },
    body: JSON.stringify(fields),
  });
}

function isPostgres(command: string): boolean {
  return /\/postgres -D |^postgres: /.test(command);
}
