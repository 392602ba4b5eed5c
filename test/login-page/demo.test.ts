import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { createDemoAdapter } from '../../src/demo/callback.ts';
import { openListener } from '../../src/http/listener.ts';
import { LoginBrowser, type LoginPage, textOf } from '../support/login-browser.ts';
import { startTestService } from '../support/service.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const START_TIMEOUT_MS = 25_000;

const GONE = JSON.stringify({ applicationId: randomUUID(), userId: randomUUID(), redirectUris: [] });

/** `npm start`, as somebody has it in a terminal. */
interface Terminal {
  /** All that it has shown so far. */
  readonly output: () => string;
  readonly url: string;
  readonly authUrl: URL;
  readonly email: string;
  close(): Promise<number | null>;
}

async function startDemo(directory: string): Promise<Terminal> {
  const child: ChildProcess = spawn(process.execPath, [MAIN], {
    cwd: directory,
    env: { PATH: process.env.PATH, PORT: '0', DATA_DIR: join(directory, 'data') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  const exited = once(child, 'exit');
  const close = async () => {
    child.kill('SIGTERM');
    const [code] = await exited;
    return code;
  };
  try {
    const find = (pattern: RegExp) => {
      const found = pattern.exec(output)?.[1];
      if (!found) throw new Error(`No ${pattern} in: ${output}`);
      return found;
    };
    await vi.waitFor(() => find(/^Usher is at (\S+),/m), { timeout: START_TIMEOUT_MS, interval: 50 });
    await vi.waitFor(() => find(/^(http\S*\/login\?intent=\S+)$/m), { timeout: 5_000, interval: 50 });
    return {
      output: () => output,
      url: find(/^Usher is at (\S+),/m),
      authUrl: new URL(find(/^(http\S*\/login\?intent=\S+)$/m)),
      email: find(/^Sign in as (\S+),/m),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

describe('npm start, with no settings', () => {
  let directory: string;
  let terminal: Terminal;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'usher-demo-'));
    terminal = await startDemo(directory);
  }, START_TIMEOUT_MS + 5_000);
  afterAll(async () => {
    await terminal?.close();
    await rm(directory, { recursive: true, force: true });
  });

  const shown = ({ body }: LoginPage) => JSON.parse(textOf(/<pre>(.*?)<\/pre>/s.exec(body)?.[1]));

  /** Follows a redirect to the demo application. */
  async function follow(browser: LoginBrowser, { status, location = '' }: LoginPage): Promise<LoginPage> {
    expect(status).toBe(303);
    const { origin, pathname, search } = new URL(location);
    expect(origin).toBe(terminal.url.replace('localhost', '127.0.0.1'));
    expect(pathname).toBe('/demo/callback');
    return browser.open(pathname + search);
  }

  async function signIn({ authUrl, email, output }: Terminal): Promise<{ browser: LoginBrowser; reply: LoginPage }> {
    const browser = new LoginBrowser({ url: authUrl.origin });
    const page = await browser.open(authUrl.pathname + authUrl.search);
    expect(page.heading).toBe('Sign in to Demo');
    const codePage = await browser.submit(page, '/login/email', { email });
    expect(codePage.heading).toBe('Check your e-mail');
    const letter = new RegExp(`^ *E-MAIL to ${email}: (\\d{6}) is your code for Demo$`, 'm');
    const code = await vi.waitFor(() => {
      const found = letter.exec(output())?.[1];
      if (!found) throw new Error('No code in the terminal');
      return found;
    }, 5_000);
    return { browser, reply: await browser.submit(codePage, '/login/code', { code }) };
  }

  it('an answer with another state is shown, escaped, and not exchanged', async () => {
    const browser = new LoginBrowser({ url: terminal.url });
    const states = ['', 'x', '<script>alert(1)</script>', 'x'.repeat(36)];
    for (const state of states) {
      const { status, heading, body } = await browser.open(
        `/demo/callback?${new URLSearchParams({ authToken: 'x', state })}`,
      );
      expect({ status, heading }).toEqual({ status: 200, heading: 'This answer was not meant for us' });
      expect(body).not.toContain('alert(1)</script>');
      expect(body).not.toContain('session');
    }
  });

  it('an answer with a state that is as long but of other characters is not meant for it either', async () => {
    const browser = new LoginBrowser({ url: terminal.url });
    const { status, heading } = await browser.open(`/demo/callback?${new URLSearchParams({ state: 'é'.repeat(36) })}`);
    expect({ status, heading }).toEqual({ status: 200, heading: 'This answer was not meant for us' });
  });

  it('who cancels on the page it prints sees that at /demo/callback', async () => {
    const browser = new LoginBrowser({ url: terminal.authUrl.origin });
    const page = await browser.open(terminal.authUrl.pathname + terminal.authUrl.search);
    const back = await follow(browser, await browser.submit(page, '/login/cancel'));
    expect({ status: back.status, heading: back.heading }).toEqual({ status: 200, heading: 'You did not sign in' });
    expect(shown(back)).toEqual({ error: 'access_denied' });
  });

  it('who signs in on the page it prints, with the code in the terminal, sees profile and session', async () => {
    const { browser, reply } = await signIn(terminal);
    const back = await follow(browser, reply);
    expect({ status: back.status, heading: back.heading }).toEqual({ status: 200, heading: 'You are signed in' });
    expect(shown(back)).toEqual({
      status: true,
      message: 'Token exchanged successfully',
      data: {
        user: expect.objectContaining({ email: terminal.email, name: 'Ada Lovelace' }),
        session: {
          id: expect.stringMatching(/^[0-9a-f-]{36}$/),
          createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        },
      },
    });
    expect(back.headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    });
    expect(back.headers['content-security-policy']).toContain("frame-ancestors 'none'");
  });

  it('prints an authUrl that works at the next start as well, and ends cleanly', async () => {
    expect(await terminal.close()).toBe(0);
    terminal = await startDemo(directory);
    const { browser, reply } = await signIn(terminal);
    expect((await follow(browser, reply)).heading).toBe('You are signed in');
  }, 30_000);

  it.each([
    ['was cut short', (file: string) => truncate(file, 20)],
    ['is of another database', (file: string) => writeFile(file, GONE)],
  ])(
    'makes a new demo where what was kept of it %s',
    async (_, spoil) => {
      expect(await terminal.close()).toBe(0);
      await spoil(join(directory, 'data', 'demo.json'));
      terminal = await startDemo(directory);
      const { browser, reply } = await signIn(terminal);
      expect((await follow(browser, reply)).heading).toBe('You are signed in');
    },
    30_000,
  );
});

it('says so where the demo application cannot reach Usher', async () => {
  const { host, tls, trustedProxies } = readConfig({}, () => '');
  const listener = await openListener({ host, port: 0, tls, trustedProxies });
  const adapter = createDemoAdapter({ apiKey: 'key', state: 'x' }, 'http://127.0.0.1:1');
  listener.serve(
    async (exchange) => void (await adapter(exchange)),
    () => false,
    () => {},
  );
  try {
    const browser = new LoginBrowser({ url: `http://127.0.0.1:${listener.port}` });
    const { status, heading, body } = await browser.open('/demo/callback?state=x&authToken=token');
    expect({ status, heading }).toEqual({ status: 200, heading: 'The exchange failed' });
    expect(body).toContain('cannot reach Usher');
  } finally {
    await listener.close(1_000);
  }
});

it('there is no /demo/callback with a database of one’s own', async () => {
  await using service = await startTestService();
  const { status, body } = await new LoginBrowser(service).open('/demo/callback?state=x');
  expect({ status, reply: JSON.parse(body) }).toEqual({ status: 404, reply: { status: false, message: 'Not found' } });
});
