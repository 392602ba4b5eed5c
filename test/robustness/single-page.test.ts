/** The quick start for a page without a server: its commands and its file as the API reference shows them, in Chromium. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { collectProblems, launchChromium, SKIPS_CHROMIUM } from '../support/chromium.ts';
import { MINUTE } from '../support/clock.ts';
import { createDirectory } from '../support/directory.ts';
import { findFreePort } from '../support/free-port.ts';
import { LOGIN_CONFIG } from '../support/login-browser.ts';
import { Mailbox } from '../support/mail-server.ts';
import { createRsaJwk } from '../support/oidc.ts';
import { REPOSITORY, runShell } from '../support/process.ts';
import { quickStartOf } from '../support/quick-starts.ts';
import { ADMIN_KEY, createTestUser, startTestService, type TestService } from '../support/service.ts';

const { creation, setup: SETUP } = quickStartOf('Single-page app');

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', () => {
  const stack = new AsyncDisposableStack();
  const mailbox = new Mailbox();
  let chrome: Browser;
  let service: TestService;
  let origin: string;

  beforeAll(async () => {
    const port = await findFreePort();
    const publicUrl = `http://localhost:${port}`;
    service = await startTestService({
      sendMail: mailbox.sendMail,
      oidcSigningKeys: [createRsaJwk()],
      config: { ...LOGIN_CONFIG, port, publicUrl },
    });
    stack.defer(() => service.close());
    const created = await runShell(`${creation}echo $CLIENT_ID`, { USHER_URL: publicUrl, ADMIN_KEY });
    const CLIENT_ID = created.stdout.trim();
    expect(CLIENT_ID).toMatch(/^client_[0-9a-f]{32}$/);

    const pagePort = await findFreePort();
    origin = `http://127.0.0.1:${pagePort}`;
    const server = await servePage({ USHER_URL: publicUrl, CLIENT_ID }, pagePort);
    stack.defer(() => void process.kill(-(server.pid ?? 0)));
    chrome = stack.adopt(await launchChromium(), (browser) => browser.close());
  });
  afterAll(() => stack.disposeAsync());

  /** Opens the page in a new browser. */
  async function open() {
    const context = await chrome.newContext();
    onTestFinished(() => context.close());
    const problems = collectProblems(context);
    await context.clock.install();
    const page = await context.newPage();
    await page.goto(origin);
    return { page, problems };
  }

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

  test('people sign in, stay signed in, and sign out', async () => {
    const user = await createTestUser(service);
    const { page, problems } = await open();
    const signedIn = page.getByText(`Signed in as ${user.email} (${user.id})`);
    await button(page, 'Sign in').click();
    await page.locator('#email').fill(user.email);
    await page.keyboard.press('Enter');
    await page.locator('#code').waitFor();
    await page.locator('#code').fill(mailbox.codeFor(user.email));
    await page.keyboard.press('Enter');
    await signedIn.waitFor();
    expect(page.url()).toBe(`${origin}/`);
    await page.reload();
    await signedIn.waitFor();

    // A minute before the tokens expire, and after a sleep in which they have.
    for (const minutes of [14, 60]) {
      const renewed = page.waitForResponse(`${service.config.publicUrl}/oidc/token`);
      await page.clock.fastForward(minutes * MINUTE);
      expect((await renewed).request().postData()).toContain('grant_type=refresh_token');
      expect((await renewed).status()).toBe(200);
      await signedIn.waitFor();
    }

    await button(page, 'Sign out').click();
    await page.getByText('Not signed in').waitFor();
    expect(page.url()).toBe(`${origin}/`);
    await page.reload();
    await button(page, 'Sign in').waitFor();
    expect(problems).toEqual([]);
  });

  test('an answer to no sign-in of the page signs nobody in', async () => {
    const { page } = await open();
    await page.goto(`${origin}/callback?code=stolen&state=of-another-page`);
    await page.getByText('Not signed in').waitFor();
    expect(page.url()).toBe(`${origin}/`);
  });
});

/** Does what the commands say, with the packages of the repository instead of those of the registry. */
async function servePage(env: Record<string, string>, port: number): Promise<ChildProcess> {
  const [install = '', , serve = ''] = SETUP.split('\n');
  const [, packages = ''] = /^mkdir -p \.\.\/shop && cd \.\.\/shop && npm install (.*)$/.exec(install) ?? [];
  expect(packages).toBe('oidc-client-ts vite');
  const directory = await createDirectory();
  const modules = join(directory, 'node_modules');
  await mkdir(join(modules, '.bin'), { recursive: true });
  await symlink(join(REPOSITORY, 'test/node_modules/oidc-client-ts'), join(modules, 'oidc-client-ts'));
  for (const name of ['vite', '.bin/vite']) await symlink(join(REPOSITORY, 'node_modules', name), join(modules, name));
  await writeFile(join(directory, 'package.json'), '{}');
  await cp(join(REPOSITORY, 'test/examples/single-page/index.html'), join(directory, 'index.html'));
  expect(serve).toContain(' --port 3000');
  const child = spawn('bash', ['-c', serve.replace('3000', String(port))], {
    cwd: directory,
    // A group of its own: npx starts a process that outlives it.
    detached: true,
    env: { PATH: process.env.PATH, HOME: directory, NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: child.stdout })) if (line.includes(`:${port}`)) return child;
  throw new Error(`vite has exited: ${await once(child, 'exit')}`);
}
