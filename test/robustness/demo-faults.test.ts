/** The demo at its next start, and when something is missing. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { parseTrustedProxies } from '../../src/config/trusted-proxies.ts';
import { createDemoCallback } from '../../src/demo/callback.ts';
import { openListener } from '../../src/http/listener.ts';
import { LoginBrowser } from '../support/login-browser.ts';
import { startMain } from '../support/process.ts';

// Several processes start, which takes long on a busy machine.
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
  const [, email = ''] = /^Sign in as (\S+),/m.exec(main.stdout) ?? [];
  const { origin, pathname, search } = new URL(/^http\S*\/login\?intent=\S+$/m.exec(main.stdout)?.[0] ?? '');
  const browser = new LoginBrowser({ url: origin });
  const codePage = await browser.submit(await browser.open(pathname + search), '/login/email', { email });
  const printed = new RegExp(`^ *E-MAIL to ${email}: (\\d{6}) is your code for Demo$`, 'm');
  await expect.poll(() => main.stdout).toMatch(printed);
  const [, code = ''] = printed.exec(main.stdout) ?? [];
  const { location = '' } = await browser.submit(codePage, '/login/code', { code });
  const callback = new URL(location);
  expect((await browser.open(callback.pathname + callback.search)).heading).toBe('You are signed in');
  expect(await main.end('SIGTERM')).toBe(0);
});

it('the demo application says so if it cannot reach Usher', async () => {
  const trustedProxies = parseTrustedProxies([]);
  const renderError = (message: string) => message;
  const listener = await openListener({ host: '127.0.0.1', port: 0, tls: undefined, trustedProxies, renderError });
  const callback = createDemoCallback({ apiKey: 'key', state: 'x' }, 'http://127.0.0.1:1');
  listener.serve({
    handle: async (context) => void (await callback(context)),
    handleStream: () => false,
    onError: () => {},
  });
  try {
    const browser = new LoginBrowser({ url: `http://127.0.0.1:${listener.port}` });
    const page = await browser.open('/demo/callback?state=x&authToken=token');
    expect(page).toMatchObject({ status: 200, heading: 'The exchange failed' });
    expect(page.body).toContain('cannot reach Usher');
  } finally {
    await listener.close(1_000);
  }
});
