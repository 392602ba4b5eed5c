import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import manifest from '../../package.json' with { type: 'json' };
import { OPERATIONS, type Operation } from '../../src/api/catalogue.ts';
import { toCurl } from '../../src/api/docs/example-commands.ts';
import { createDirectory } from '../support/directory.ts';
import { request } from '../support/http.ts';
import { REPOSITORY, runMain, runShell, startMain, survivorsOf, type UsherProcess } from '../support/process.ts';
import { readDemo } from '../support/workers.ts';

const directory = await createDirectory();
const dataDir = join(directory, 'deeper', 'data');

describe('the first start', () => {
  let main: UsherProcess;

  beforeAll(async () => {
    main = await startMain({ env: { PORT: '0', DATA_DIR: dataDir } });
  });

  afterAll(() => main[Symbol.asyncDispose]());

  test('prints the URL and the data directory', () => {
    expect(main.url).toMatch(/^http:\/\/localhost:\d+$/);
    expect(main.stdout).toContain(`Usher is at ${main.url}`);
    expect(main.stdout).toContain(dataDir);
    expect(main.stderr).toBe('');
  });

  test('lets only the owner read the data directory and the secrets in it, and prints none', async () => {
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
    for (const name of [
      'admin-key',
      'auth-signing-keys.json',
      'oidc-signing-keys.json',
      'encryption-key',
      'demo.json',
    ]) {
      expect((await stat(join(dataDir, name))).mode & 0o777, name).toBe(0o600);
    }
    // The start prints none of them besides the API key of the demo.
    for (const name of ['admin-key', 'encryption-key']) {
      expect(main.stdout).not.toContain((await readFile(join(dataDir, name), 'utf8')).trim());
    }
  });

  test('prints thirteen commands, each of which works', async () => {
    await expectCommandsToWork(main);
  });

  test('prints the webhook of a check-in a moment later', async () => {
    const message = /^ {2}WEBHOOK check_in\.created \{"eventId":"demo-event-\w+","attendeeId":"ada","checkedInAt":"/m;
    await expect.poll(() => main.stdout).toMatch(message);
    expect(main.stdout).toMatch(/"type":"check_in\.created","attempt":1,"statusCode":200,.*"msg":"webhook attempt"/);
  });

  test('prints the variables that examples of the API reference need', async () => {
    const [variables = ''] = /^export USHER_URL=.*$/m.exec(main.stdout) ?? [];
    const examples = [WebhookService.method.getWebhook, EventService.method.listCheckIns].map((method) =>
      toCurl(OPERATIONS.find((operation) => operation.method === method) as Operation),
    );
    const { stdout } = await runShell([variables, ...examples.map((example) => `${example}; echo`)].join('\n'));
    const replies = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(replies).toMatchObject([{ status: true, data: { application: { name: 'Demo' } } }, { status: true }]);
  });

  test('opens no inspector on SIGUSR1', async () => {
    main.kill('SIGUSR1');
    // As long as an inspector takes to say that it listens, and then some.
    await sleep(1_000);
    expect(main.stderr).toBe('');
    expect((await request(main.url, { path: '/healthz' })).status).toBe(200);
  });

  test('exits with 0 on SIGTERM and leaves no Postgres behind', async () => {
    const descendants = await main.descendants();
    expect([...descendants.values()].join()).toContain('postgres');
    expect(await main.end('SIGTERM')).toBe(0);
    expect(await survivorsOf(descendants)).toEqual([]);
  });
});

test('the next start reads .env, prefers the environment, serves the same data and exits with 0 on SIGINT', async () => {
  const dotEnv = `PORT=1\nDATA_DIR=${dataDir}\nPUBLIC_URL=https://usher.test\nLOG_LEVEL=silent\n`;
  await using main = await startMain({ env: { PORT: '0' }, files: { '.env': dotEnv } });

  expect(main.stdout).not.toContain('"level"');
  const replies = await runCommands(main.commands.filter((command) => command.startsWith('curl ')).slice(0, 4));
  const authUrl = expect.stringMatching(/^https:\/\/usher\.test\/login\?intent=/);
  expect(replies).toMatchObject([{ data: { authUrl } }, ...Array(3).fill({ status: true })]);
  // The webhook has followed to the other port.
  await expect.poll(() => main.stdout).toMatch(/^ {2}WEBHOOK event\.deleted /m);
  expect(await main.end('SIGINT')).toBe(0);
});

/** Runs commands that the start has printed, and returns what they print. */
async function runCommands(commands: readonly string[]) {
  const { apiKey } = await readDemo(dataDir);
  const replies = [];
  for (const command of commands) {
    expect(command).toContain(apiKey);
    // npx takes half a second to find the buf that is on the path.
    const { exitCode, stdout } = await runShell(command.replace(/^npx /, ''));
    expect({ command, exitCode }).toEqual({ command, exitCode: 0 });
    replies.push(JSON.parse(stdout));
  }
  return replies;
}

async function expectCommandsToWork(main: UsherProcess): Promise<void> {
  const { clientId, webhookId } = await readDemo(dataDir);
  const replies = await runCommands(main.commands);
  const [{ data }, { data: exchanged }] = replies;
  const user = { email: expect.stringMatching(/^ada\.[0-9a-f]{8}@example\.com$/), name: 'Ada Lovelace' };
  const webhook = { webhookId, application: { name: 'Demo', clientId }, owner: { name: 'Ada Lovelace' } };
  expect(data.authUrl).toBe(`${main.url}/login?intent=${data.loginIntentId}&client_id=${clientId}`);
  expect(replies).toMatchObject([
    { status: true, message: 'Auth URL generated successfully' },
    { status: true, message: 'Token exchanged successfully', data: { user } },
    { status: true, message: 'Webhook retrieved successfully', data: webhook },
    { status: true, message: 'Event deleted successfully' },
    { authUrl: `${main.url}/login?intent=${replies[4].loginIntentId}&client_id=${clientId}` },
    { user, session: { id: exchanged.session.id } },
    { webhook: { webhookId, signingKey: replies[2].data.signingKey } },
    {},
    { status: true, data: { attendeeId: 'ada' } },
    { status: true, data: { events: [{ eventId: expect.stringMatching(/^demo-event-/) }] } },
    { status: true, data: { active: true, session: { user } } },
    { status: true, data: { id: exchanged.session.id } },
    { status: true },
  ]);
}

test('invalid settings stop the start with one line that names all of them', async () => {
  const env = {
    PORT: '99999',
    DATABASE_URL: 'mysql://localhost',
    ADMIN_KEY: 'short',
    ENCRYPTION_KEY_FILE: '/nowhere/key',
    LOG_LEVEL: 'loud',
  };
  const { exitCode, stderr, stdout } = await runMain({ env });
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr).toMatch(/^usher: [^\n]+\n$/);
  for (const name of [...Object.keys(env), 'AUTH_SIGNING_KEYS_FILE']) expect(stderr).toContain(name);
});

/** A process of our own Node that claims to be an older one. */
const PRETENDED = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })";

test('an older Node stops with one line that says which one is needed', async () => {
  const options = ['--import', `data:text/javascript,${PRETENDED}`];
  const stderr = 'usher: needs Node 24.16 or later; this is 20.20.2\n';
  for (const script of [['src/start.js'], ['src/run.js', 'src/config/create-secrets.ts', '/nowhere']]) {
    const started = promisify(execFile)(process.execPath, [...options, ...script], { cwd: REPOSITORY });
    await expect(started).rejects.toMatchObject({ code: 1, stdout: '', stderr });
  }
});

test('every script that runs TypeScript checks the version of Node first', () => {
  const lines = Object.entries<string>(manifest.scripts).filter(([, line]) => /\.ts\b/.test(line));
  expect(lines.length).toBeGreaterThan(5);
  for (const [name, line] of lines) expect(line, name).toMatch(/(^|&& )node src\/run\.js \S+\.ts$/);
});
