import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { DescMethodUnary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AuthService } from '../../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import manifest from '../../../package.json' with { type: 'json' };
import type { Operation } from '../../../src/api/catalogue.ts';
import { toCurl } from '../../../src/reference/docs/example-commands.ts';
import { renderReference } from '../../../src/reference/docs/page.ts';
import { cloneDatabase } from '../../support/database.ts';
import { createDirectory } from '../../support/directory.ts';
import { findFreePort } from '../../support/free-port.ts';
import { request } from '../../support/http.ts';
import { LoginBrowser, textOf } from '../../support/login-browser.ts';
import { OPERATIONS } from '../../support/operations.ts';
import {
  REPOSITORY,
  runMain,
  runShell,
  startMain,
  startUsher,
  survivorsOf,
  type UsherProcess,
} from '../../support/process.ts';
import { readDemo } from '../../support/read-demo.ts';

const directory = await createDirectory();
const dataDir = join(directory, 'deeper', 'data');

describe('the first start', () => {
  let main: UsherProcess;

  beforeAll(async () => {
    main = await startMain({ env: { PORT: '0', DATA_DIR: dataDir } });
  });

  afterAll(() => main[Symbol.asyncDispose]());

  test('prints where the demo and the API reference are, on a screen of few lines', () => {
    expect(main.url).toMatch(/^http:\/\/localhost:\d+$/);
    const [screen = ''] = /^Usher [\s\S]*?Ctrl\+C stops it\.\n/m.exec(main.stdout) ?? [];
    expect(screen).toContain(
      `  Demo     ${main.url.replace('localhost', '127.0.0.1')}/demo    sign in as ada@example.com, the code appears here\n`,
    );
    expect(screen).toContain(`  Docs     ${main.url}/docs\n`);
    expect(screen).toContain(`Data stays in ${dataDir}.`);
    const lines = screen.trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(12);
    // But for what is to be pasted, and the directory of this test.
    const wide = lines.filter((line) => line.length > 100 && !/^export |^Data |http/.test(line));
    expect(wide).toEqual([]);
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

  test('prints the variables of the demo application and of the operator', async () => {
    const { apiKey, clientId } = await readDemo(dataDir);
    const [line = ''] = /^export USHER_URL=.*$/m.exec(main.stdout) ?? [];
    const { stdout } = await runShell(`${line}; echo "$USHER_URL $CLIENT_ID $API_KEY $ADMIN_KEY"`);
    const adminKey = await readFile(join(dataDir, 'admin-key'), 'utf8');
    expect(stdout.trim()).toBe([main.url, clientId, apiKey, adminKey.trim()].join(' '));
  });

  test('shows values in the API reference with which its examples work, and a check-in tells its webhook', async () => {
    const { deleteEvent, checkIn, listCheckIns } = EventService.method;
    const { generateAuthUrl, exchangeToken } = AuthService.method;
    const methods = [
      generateAuthUrl,
      exchangeToken,
      WebhookService.method.getWebhook,
      checkIn,
      listCheckIns,
      deleteEvent,
    ];
    const replies = await runExamples(main, methods);
    const user = { email: expect.stringMatching(/^ada-/), name: 'Ada Lovelace' };
    expect(replies).toMatchObject([
      { status: true, message: 'Auth URL generated successfully' },
      { status: true, message: 'Token exchanged successfully', data: { user } },
      { status: true, data: { application: { name: 'Demo' }, owner: { email: 'ada@example.com' } } },
      { status: true, data: { attendeeId: 'ada' } },
      { status: true },
      { status: true, message: 'Event deleted successfully' },
    ]);
    const message = /^ {2}WEBHOOK check_in\.created \{"eventId":"one-\w+","attendeeId":"ada","checkedInAt":"/m;
    await expect.poll(() => main.stdout).toMatch(message);
  });

  test('names in the terminal an address that gets no code, with the reason', async () => {
    const adminKey = (await readFile(join(dataDir, 'admin-key'), 'utf8')).trim();
    const call = async (path: string, headers: Record<string, string>, fields: object) => {
      const init = {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(fields),
      };
      return JSON.parse(await (await fetch(main.url + path, init)).text());
    };
    const redirectUri = 'http://127.0.0.1/callback';
    const shop = { name: 'Shop', redirectUris: [redirectUri] };
    const path = '/usher.v1.AdminService/CreateApplication';
    const { application, apiKey } = await call(path, { 'x-admin-key': adminKey }, shop);
    const login = { clientId: application.clientId, redirectUri, state: 'state' };
    const { authUrl } = await call('/usher.v1.AuthService/GenerateAuthUrl', { 'x-api-key': apiKey }, login);
    const { pathname, search } = new URL(authUrl);
    const browser = new LoginBrowser({ url: main.url });
    await browser.submit(await browser.open(pathname + search), '/login/email', { email: 'eve@example.com' });
    const line = /^ *NO E-MAIL to eve@example\.com: Shop takes no sign-ups \(allowSignUp\)$/m;
    await expect.poll(() => main.stdout, { timeout: 10_000 }).toMatch(line);
  });

  test('shows calls with curl that all work, pasted in the order of the pages', async () => {
    const [setup = ''] = (await readBlocks(main.url, '/docs')).filter((block) => block.includes('eval '));
    const paths = [...renderReference({ publicUrl: main.url }).keys()].filter((path) => !path.endsWith('.json'));
    const blocks = (await Promise.all(paths.map((path) => readBlocks(main.url, path)))).flat();
    const examples = blocks.filter((block) => block.startsWith('curl '));
    expect(examples.length).toBeGreaterThan(OPERATIONS.length);
    // Prints the answer of each that fails.
    const curl = 'curl() { command curl -sS --fail-with-body -o "$reply" "$@" || { cat "$reply"; echo " to $*"; }; }';
    for (let times = 0; times < 2; times++) {
      const { stdout, stderr } = await runShell([setup, 'reply=$(mktemp)', curl, ...examples].join('\n'));
      expect({ stdout, stderr }).toEqual({ stdout: '', stderr: '' });
    }
  }, 120_000);

  test.each([
    ['a page of another site', { 'sec-fetch-site': 'cross-site' }],
    ['another host', { host: 'evil.test' }],
    ['a proxy', { 'x-forwarded-for': '203.0.113.7' }],
  ])('makes nothing for a request through %s', async (_, headers) => {
    expect((await request(main.url, { path: '/docs/examples', method: 'POST', headers })).status).toBe(404);
  });

  test.each([
    ['another host', { host: 'evil.test' }],
    ['a proxy', { 'x-forwarded-for': '203.0.113.7' }],
  ])('shows no values to a request through %s', async (_, headers) => {
    const { apiKey } = await readDemo(dataDir);
    const { body, status } = await request(main.url, { path: '/docs', headers });
    expect(status).toBe(200);
    expect(body).not.toContain(apiKey);
    expect((await request(main.url, { path: '/docs' })).body).toContain(apiKey);
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
  const { generateAuthUrl } = AuthService.method;
  const replies = await runExamples(main, [generateAuthUrl, EventService.method.deleteEvent]);
  const authUrl = expect.stringMatching(/^https:\/\/usher\.test\/login\?intent=/);
  expect(replies).toMatchObject([{ data: { authUrl } }, { status: true }]);
  // The webhook has followed to the other port.
  await expect.poll(() => main.stdout).toMatch(/^ {2}WEBHOOK event\.deleted /m);
  expect(await main.end('SIGINT')).toBe(0);
});

/** Runs examples of the API reference after a paste of the values that it shows. Returns their replies. */
async function runExamples({ url }: UsherProcess, methods: readonly DescMethodUnary[]) {
  const [setup = ''] = (await readBlocks(url, '/docs')).filter((block) => block.includes('eval '));
  const examples = methods.map((method) => toCurl(OPERATIONS.find((each) => each.method === method) as Operation));
  // PUBLIC_URL may be another machine.
  const script = [setup, `USHER_URL=${url} ATTENDEE_ID=ada`, ...examples.map((example) => `${example}\necho`)];
  const { stdout } = await runShell(script.join('\n'));
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** Returns the blocks of code of a page, as its buttons copy them. */
async function readBlocks(url: string, path: string): Promise<string[]> {
  const { body } = await request(url, { path });
  return [...body.matchAll(/<pre[^>]*>(.*?)<\/pre>/gs)].map(([, code = '']) => textOf(code));
}

test('a start with PUBLIC_URL and CONSOLE_PORT alone prints the URLs that they name', async () => {
  const port = await findFreePort();
  const env = {
    PORT: '0',
    PUBLIC_URL: 'https://usher.test',
    CONSOLE_PORT: String(port),
    DATA_DIR: join(await createDirectory(), 'data'),
  };
  await using main = await startMain({ env });

  expect(main.stdout).toContain('\n  Demo     https://usher.test/demo ');
  expect(main.stdout).toContain('\n  Docs     https://usher.test/docs\n');
  expect(main.stdout).toContain(`\n  Here     ${main.url}\n`);
  expect(main.url).toMatch(/^http:\/\/localhost:\d+$/);
  expect(main.stdout).toContain('\nexport USHER_URL=https://usher.test CLIENT_ID=');
  const [, link = ''] = new RegExp(`\\n  (http://localhost:${port}/callback\\?link=\\S+)\\n`).exec(main.stdout) ?? [];
  expect((await fetch(link)).status).toBe(200);
});

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

const WARNINGS = {
  noUrl: '"msg":"PUBLIC_URL is not set, so logins lead to localhost"',
  otherPort: '"msg":"PUBLIC_URL has another port than this server"',
  removed:
    '"variable":"WORKERS","instead":"for more cores run replicas behind a proxy","msg":"setting has no effect any more"',
};

test.each<[string, (port: string) => Record<string, string>, readonly (keyof typeof WARNINGS)[]]>([
  [
    'without a URL for people and with a setting of an earlier version is warned of both',
    () => ({ PUBLIC_URL: '', WORKERS: '2' }),
    ['noUrl', 'removed'],
  ],
  [
    'with a PUBLIC_URL of another port of this machine is warned of it',
    () => ({ PUBLIC_URL: 'http://localhost:1' }),
    ['otherPort'],
  ],
  ['with its own PUBLIC_URL is warned of neither', (port) => ({ PUBLIC_URL: `http://localhost:${port}` }), []],
])('a start on a database %s in the log', async (_, envOf, expected) => {
  await using database = await cloneDatabase();
  const port = String(await findFreePort());
  await using usher = await startUsher(database.url, { PORT: port, ...envOf(port) }, { keepsLog: true });
  for (const [name, warning] of Object.entries(WARNINGS))
    expect(usher.stdout.split(warning), name).toHaveLength(expected.some((each) => each === name) ? 2 : 1);
  expect(usher.stdout.match(/has no effect/g) ?? []).toHaveLength(expected.includes('removed') ? 1 : 0);
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
  for (const [name, line] of lines) expect(line, name).toMatch(/(^|&& )node src\/run\.js \S+\.ts( && tsc)?$/);
});
