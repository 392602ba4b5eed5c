/** The demo at its next start, and when something is missing. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { LoginBrowser } from '../support/login-browser.ts';
import { startMain } from '../support/process.ts';

vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

const OF_ANOTHER_DATABASE = JSON.stringify({ applicationId: randomUUID(), userId: randomUUID(), redirectUris: [] });

let directory: string;

const start = () => startMain({ env: { PORT: '0', DATA_DIR: join(directory, 'data') } });

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'usher-demo-'));
  await using main = await start();
  expect(await main.end('SIGTERM')).toBe(0);
});
afterAll(() => rm(directory, { recursive: true, force: true }));

it.each<[string, (file: string) => Promise<void>]>([
  ['works', async () => {}],
  ['is created again if its file was truncated', (file) => truncate(file, 20)],
  ['is created again if its file is of another database', (file) => writeFile(file, OF_ANOTHER_DATABASE)],
])('at the next start, the demo %s, with the code in the terminal', async (_, spoil) => {
  await spoil(join(directory, 'data', 'demo.json'));
  await using main = await start();
  const [, email = ''] = /sign in as (\S+) /.exec(main.stdout) ?? [];
  expect(main.stdout).toContain(`\n${main.url}/demo\n`);
  const browser = new LoginBrowser({ url: main.url });
  const { location: login = '' } = await browser.submit(await browser.open('/demo'), '/demo/login');
  const { pathname, search } = new URL(login);
  const codePage = await browser.submit(await browser.open(pathname + search), '/login/email', { email });
  const printed = new RegExp(`^ *E-MAIL to ${email}: (\\d{6}) is your code for Demo$`, 'm');
  await expect.poll(() => main.stdout).toMatch(printed);
  const [, code = ''] = printed.exec(main.stdout) ?? [];
  const { location = '' } = await browser.submit(codePage, '/login/code', { code });
  const callback = new URL(location);
  expect((await browser.open(callback.pathname + callback.search)).heading).toBe('Hello, Ada Lovelace');
  expect(await main.end('SIGTERM')).toBe(0);
});
