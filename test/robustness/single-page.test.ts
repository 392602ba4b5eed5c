/** The quick start for a page without a server: its commands, and the test file that /docs/testing shows, in Chromium. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { startUsher } from '../../src/testing/usher-testing.ts';
import { SKIPS_CHROMIUM } from '../support/chromium.ts';
import { createDirectory } from '../support/directory.ts';
import { findFreePort } from '../support/free-port.ts';
import { REPOSITORY, runShell } from '../support/process.ts';
import { quickStartOf } from '../support/quick-starts.ts';
import { CHROMIUM_PATH } from '../support/tools.ts';

const { creation, setup: SETUP } = quickStartOf('Single-page app');

test('the commands create a public client and serve the page', async () => {
  await using usher = await startUsher();
  const env = { USHER_URL: usher.url, ADMIN_KEY: usher.adminKey };
  const created = await runShell(`${creation}echo $CLIENT_ID`, env);
  const CLIENT_ID = created.stdout.trim();
  const { applications } = await usher.admin.listApplications({});
  expect(applications).toMatchObject([{ clientId: CLIENT_ID, publicClient: true, openIdConnect: true }]);
  const port = await findFreePort();
  const server = await servePage({ USHER_URL: usher.url, CLIENT_ID }, port);
  onTestFinished(() => void process.kill(-(server.pid ?? 0)));
  expect(await (await fetch(`http://127.0.0.1:${port}`)).text()).toContain('id="sign-in"');
});

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', async () => {
  if (SKIPS_CHROMIUM) return;
  vi.stubEnv('CHROMIUM_PATH', CHROMIUM_PATH);
  await import('../examples/single-page/page.spec.ts');
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
