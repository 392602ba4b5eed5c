/** The package usher-testing as applications get it: packed, and installed beside vitest and Express from the registry. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeAll, describe, expect, test } from 'vitest';
import testFiles from '../../gen/test-files.json' with { type: 'json' };
import { createDirectory } from '../support/directory.ts';
import { endProcess } from '../support/end-process.ts';
import { INSTALL_TIMEOUT_MS, installPackages, runOrThrow } from '../support/npm-registry.ts';
import { descendantsOf, REPOSITORY, runShell, survivorsOf } from '../support/process.ts';
import { quickStartOf } from '../support/quick-starts.ts';
import { lacks } from '../support/tools.ts';

const SHARED_MEMORY = '/dev/shm';
const NODE_BIN = join(REPOSITORY, 'node_modules/.bin');

/** Of the package itself, in bytes. */
const MOST_BYTES = 3_000_000;

/** Starts Usher, says so and never ends. */
const HANGING_TEST = `import { startUsher } from 'usher-testing';
import { test } from 'vitest';

test('hangs', { timeout: 600_000 }, async () => {
  const usher = await startUsher();
  await usher.createUser();
  process.stderr.write('HANGS\\n');
  await new Promise((resolve) => setTimeout(resolve, 600_000));
});
`;

/** Both have calls that are not served. Only what was logged during the test that fails is printed. */
const FAILING_TEST = `import { startUsher } from 'usher-testing';
import { expect, test } from 'vitest';

async function fail(call) {
  await using usher = await startUsher({ log: 'failures' });
  await using outage = await usher.outage('database');
  await expect(call(usher.admin)).rejects.toThrow();
}

test('passes', () => fail((admin) => admin.listUsers({})));
test('fails', async () => {
  await fail((admin) => admin.listApplications({}));
  expect('what the test expects').toBe('something else');
});
`;

describe.skipIf(lacks('NPM_REGISTRY'))("in a stranger's application", () => {
  let shop: string;

  beforeAll(async () => {
    shop = await createDirectory();
    const pack = async (name: string) => {
      const printed = await runOrThrow(`npm run ${name}:pack --silent ${shop}`);
      return join(shop, printed.trim());
    };
    const tarballs = [await pack('client'), await pack('testing')];
    expect((await stat(tarballs.at(-1) ?? '')).size).toBeLessThan(MOST_BYTES);
    await writeFile(join(shop, 'package.json'), '{}');
    await installPackages(shop, ['express', 'vitest', ...tarballs]);
    const written = [...testFiles.shared, { name: 'app.mts', text: quickStartOf('Express').text }];
    for (const { name, text } of written) await writeFile(join(shop, name), text);
  }, INSTALL_TIMEOUT_MS);

  test('sign-in, 16 idle minutes, an outage and a webhook are tested without a sleep', async () => {
    const { text = '' } = testFiles.tests.find(({ title }) => title === 'Express') ?? {};
    expect(text).not.toMatch(/setTimeout|sleep/);
    await writeFile(join(shop, 'app.test.mts'), text);
    const { exitCode, stdout, stderr } = await runShell(`cd ${shop} && NO_COLOR=1 npx vitest run app.test.mts`);
    expect({ exitCode, output: exitCode === 0 ? '' : stdout + stderr }).toEqual({ exitCode: 0, output: '' });
    expect(stdout).toMatch(/Tests +5 passed/);
  });

  test("the server's log is printed if the test fails", async () => {
    await writeFile(join(shop, 'failing.test.mts'), FAILING_TEST);
    const { exitCode, stdout, stderr } = await runShell(`cd ${shop} && NO_COLOR=1 npx vitest run failing.test.mts`);
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 1, stdout: expect.stringMatching(/1 failed \| 1 passed/) });
    expect(stderr).toMatch(/warn +call not served.*ListApplications/);
    expect(stderr).not.toContain('ListUsers');
  });

  test('a run that is killed in the middle of a file leaves nothing after the next start', async () => {
    await writeFile(join(shop, 'hanging.test.mts'), HANGING_TEST);
    const run = start('npx vitest run hanging.test.mts', shop);
    for await (const line of createInterface({ input: run.stderr ?? process.stdin })) if (line.includes('HANGS')) break;
    const processes = await descendantsOf(run.pid ?? 0);
    expect([...processes.values()].join('\n')).toContain('postgres');
    process.kill(-(run.pid ?? 0), 'SIGKILL');
    expect(await survivorsOf(processes)).toEqual([]);
    expect(await runShell(`cd ${shop} && npx vitest run app.test.mts`)).toMatchObject({ exitCode: 0 });
    // Another run on the machine may be about to remove them.
    await expect.poll(() => directoriesOf(processes)).toEqual([]);
  });

  test.each(['SIGTERM', 'SIGINT', 'the end of its input'] as const)(
    'npx usher-testing ends by %s, and leaves nothing',
    async (end) => {
      const npx = start('exec npx usher-testing --env LOGIN_METHODS=email', shop);
      const [line] = await once(createInterface({ input: npx.stdout ?? process.stdin }), 'line');
      const { url, controlUrl, controlKey } = JSON.parse(line);
      const processes = await descendantsOf(npx.pid ?? 0);
      expect((await fetch(`${url}/readyz`)).status).toBe(200);
      const headers = { authorization: `Bearer ${controlKey}`, 'content-type': 'application/json' };
      const reply = await fetch(`${controlUrl}/clock/advance`, { method: 'POST', headers, body: '{"duration":"16m"}' });
      expect({ status: reply.status, answer: await reply.json() }).toMatchObject({
        status: 200,
        answer: { now: expect.any(String) },
      });
      if (end === 'the end of its input') npx.stdin?.end();
      else await endProcess(npx, end);
      expect(await survivorsOf(processes)).toEqual([]);
      expect(directoriesOf(processes)).toEqual([]);
      await expect(fetch(url)).rejects.toThrow();
    },
  );

  test.each([
    ['--env PUBLIC_URL=nonsense', 'PUBLIC_URL'],
    ['--env nonsense', '--env must be NAME=VALUE'],
    ['--at soon', '--at must be a time'],
    ['--control-port 99999', '--control-port must be a port'],
    ['--prot 1', 'usage: usher-testing'],
    ['--database-url postgres://db.example.com/usher', 'loopback address'],
  ])('npx usher-testing %s says what is wrong', async (options, message) => {
    const { exitCode, stdout, stderr } = await runShell(`cd ${shop} && npx usher-testing ${options}`);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toContain(`usher-testing: `);
    expect(stderr).toContain(message);
  });

  test('it does not start in production', async () => {
    const { exitCode, stderr } = await runShell(`cd ${shop} && npx usher-testing`, { NODE_ENV: 'production' });
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('NODE_ENV=production') });
  });
});

/** Starts the command in a group of its own, with the Node of the repository and no variable of this run. */
function start(command: string, directory: string): ChildProcess {
  const env = { PATH: `${NODE_BIN}:${process.env.PATH}`, HOME: process.env.HOME };
  return spawn('bash', ['-c', command], { cwd: directory, detached: true, env, stdio: 'pipe' });
}

/** Returns the directories that test runs of these processes have in memory. */
function directoriesOf(processes: ReadonlyMap<number, string>): string[] {
  const names = readdirSync(SHARED_MEMORY);
  return [...processes.keys()].flatMap((pid) => names.filter((name) => name.startsWith(`usher-tests-${pid}-`)));
}
