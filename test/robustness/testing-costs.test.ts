/** What the package for tests costs, as CPU time beside one migration of an empty database. */
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createDirectory } from '../support/directory.ts';
import { INSTALL_TIMEOUT_MS, runOrThrow } from '../support/npm-registry.ts';
import { REPOSITORY } from '../support/process.ts';
import { quickOrLong, report } from '../support/soak.ts';

const TESTING = join(REPOSITORY, 'src/testing');
const FILES = quickOrLong(10, 50);
const WORKERS = 2;
const SERVERS = 11;

/** Of CPU time beside the migration. About twice what was measured. */
const MOST = { globalStart: 0.4, server: 0.2, file: 0.25 };
/** Of memory, for each server in the same process. */
const MOST_MEGABYTES = 40;

const TWENTY_LOGINS = `import { startUsher } from 'usher-testing';
import { expect, test } from 'vitest';

test('twenty logins', async () => {
  await using usher = await startUsher();
  const { client, clientId, redirectUris } = await usher.createApplication();
  for (let login = 0; login < 20; login++) {
    const begun = await client.auth.generateAuthUrl({ clientId, redirectUri: redirectUris[0], state: 'random' });
    const { authToken } = await usher.signIn(begun.authUrl, \`user-\${login}@example.com\`);
    expect((await client.auth.exchangeToken({ authToken })).user.email).toBe(\`user-\${login}@example.com\`);
  }
});
`;

/** Starts Postgres as the global setup does, and so many servers, and prints how much memory each but the first takes. */
const STARTS = `import { setup } from '${TESTING}/vitest.ts';

const count = Number(process.argv[2]);
const stop = await setup();
if (count > 0) {
  const { startUsher } = await import('${TESTING}/usher-testing.ts');
  await using stack = new AsyncDisposableStack();
  stack.use(await startUsher());
  gc();
  const before = process.memoryUsage().rss;
  const startedAt = performance.now();
  for (let started = 1; started < count; started++) stack.use(await startUsher());
  const milliseconds = performance.now() - startedAt;
  gc();
  const bytes = process.memoryUsage().rss - before;
  if (count > 1) console.log(JSON.stringify([milliseconds, bytes / 2 ** 20].map((sum) => Math.round(sum / (count - 1)))));
}
await stop();
`;

test(`a start of Postgres, a server, and ${FILES} test files on ${WORKERS} workers cost little beside a migration`, {
  timeout: INSTALL_TIMEOUT_MS,
}, async (context) => {
  const project = await createDirectory();
  await symlink(join(REPOSITORY, 'node_modules'), join(project, 'node_modules'));
  const alias = { 'usher-testing/vitest': `${TESTING}/vitest.ts`, 'usher-testing': `${TESTING}/usher-testing.ts` };
  const settings = {
    globalSetup: alias['usher-testing/vitest'],
    isolate: false,
    maxWorkers: WORKERS,
    testTimeout: 120_000,
  };
  const config = `export default ${JSON.stringify({ resolve: { alias }, test: settings })}`;
  await writeFile(join(project, 'vitest.config.mjs'), config);
  await writeFile(join(project, 'starts.mjs'), STARTS);
  for (let file = 0; file < FILES; file++) await writeFile(join(project, `${file}.test.mts`), TWENTY_LOGINS);
  const measureStarts = (count: number) => measureCpu(`node --expose-gc ${project}/starts.mjs ${count}`);

  const migration = await measureCpu(`node --input-type=module --eval '
    import { makeReady } from "${TESTING}/ready-directory.ts";
    await makeReady("${project}/new", { cache: "${project}/cache" });'`);
  const globalStart = await measureStarts(0);
  const [one, many] = [await measureStarts(1), await measureStarts(SERVERS)];
  // The first run fills caches.
  await runOrThrow(`cd ${project} && vitest run 0.test.mts`);
  const few = await measureCpu(`cd ${project} && vitest run 0.test.mts 1.test.mts`);
  const all = await measureCpu(`cd ${project} && NO_COLOR=1 vitest run`);
  expect(all.stdout).toMatch(new RegExp(`Test Files +${FILES} passed`));
  const costs = {
    globalStart: globalStart.seconds / migration.seconds,
    server: (many.seconds - one.seconds) / (SERVERS - 1) / migration.seconds,
    file: (all.seconds - few.seconds) / (FILES - WORKERS) / migration.seconds,
  };
  const [milliseconds, megabytes] = JSON.parse(many.stdout.split('\n', 1)[0] ?? '');
  const parts = Object.entries(costs).map(([name, cost]) => `${name} ${cost.toFixed(2)}`);
  report(context, {
    tried: `${SERVERS} servers, and ${FILES} test files with 20 logins each on ${WORKERS} workers`,
    figures: `a migration ${migration.seconds} s of CPU; beside it, ${parts.join(', ')}; a server ${milliseconds} ms, ${megabytes} MB`,
  });
  for (const [name, cost] of Object.entries(costs))
    expect.soft(cost, name).toBeLessThan(MOST[name as keyof typeof MOST]);
  expect(megabytes).toBeLessThan(MOST_MEGABYTES);
});

/** Runs the line, and returns the CPU time of all processes that have ended in it. @throws Error if it fails */
async function measureCpu(line: string): Promise<{ stdout: string; seconds: number }> {
  const stdout = await runOrThrow(`( ${line} ) && times`);
  // The second line is that of children.
  const [user = 0, system = 0] = (stdout.trim().split('\n').at(-1) ?? '').split(' ').map((time) => {
    const [, minutes, seconds] = /^(\d+)m([\d.]+)s$/.exec(time) ?? [];
    return Number(minutes) * 60 + Number(seconds);
  });
  return { stdout, seconds: Number((user + system).toFixed(2)) };
}
