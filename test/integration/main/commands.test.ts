/** Commands of `package.json`, on a Postgres that has no Citus. With Citus: test/lab/cluster/citus-migrations.test.ts. */
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CLEAR_LINE } from '../../../src/log.ts';
import { createDatabase } from '../../support/database.ts';
import { createDirectory } from '../../support/directory.ts';
import { findFreePort } from '../../support/free-port.ts';
import { REPOSITORY, runShell } from '../../support/process.ts';
import { runCommand } from '../../support/run-command.ts';

test.each(['migrate', 'distribute'])('%s needs a DATABASE_URL', async (command) => {
  const { exitCode, stderr } = await runCommand(command, {});
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: 'usher: DATABASE_URL is required\n' });
});

test.each([
  ['DATABASE_URL must be a postgres:// URL', 'migrate', { DATABASE_URL: 'db.test' }],
  ['DATABASE_URL must be a postgres:// URL', 'distribute', { DATABASE_URL: 'http://db.test' }],
  [
    'DATABASE_SCHEMA must be a name of lower-case letters',
    'migrate',
    { DATABASE_URL: 'postgres://', DATABASE_SCHEMA: 'X' },
  ],
  ['migrate takes no argument', 'migrate', {}, 'now'],
  ['distribute takes no argument', 'distribute', {}, '--force'],
  ['check takes --json, and no other argument', 'check', {}, '--yaml'],
  ['check-backup needs the file of a dump', 'check-backup', {}],
  ['check takes 1 argument at most', 'check', {}, '--json', '--json'],
  ['console takes 1 argument at most', 'console', {}, 'ada@example.com', 'eve@example.com'],
  ['There is no command --help, but migrate, distribute, check, check-backup, console', '--help', {}],
  ['There is no command constructor, but migrate', 'constructor', {}],
  [
    'DATA_DIR cannot be used: ENOENT: no such file or directory',
    undefined,
    { DATA_DIR: '/proc/usher/data', PORT: '0' },
  ],
  ['DATA_DIR cannot be used: ENOTDIR: not a directory', undefined, { DATA_DIR: '/dev/null/data', PORT: '0' }],
  [
    'METRICS_HOST and METRICS_PORT cannot be used: listen EADDRINUSE',
    undefined,
    { PORT: 'FREE', METRICS_PORT: 'FREE' },
  ],
])('says in one line: %s', async (line, command, env: Record<string, string>, ...given) => {
  const free = String(await findFreePort());
  const values = Object.entries(env).map(([name, value]) => [name, value.replace('FREE', free)]);
  const run = [process.execPath, join(REPOSITORY, 'src/start.js'), ...(command ? [command, ...given] : [])].join(' ');
  const directory = await createDirectory();
  const { exitCode, stdout, stderr } = await runShell(
    `cd ${directory} && timeout -s KILL 60 ${run}`,
    Object.fromEntries(values),
  );
  expect(stderr).toMatch(/^usher: [^\n]+\n$/);
  expect(stderr).toContain(line);
  expect({ exitCode, stdout, files: await readdir(directory) }).toEqual({ exitCode: 1, stdout: '', files: [] });
});

test('migrate says how much it has done', async () => {
  await using database = await createDatabase('');
  const migrate = () => runCommand('migrate', { DATABASE_URL: database.url });
  const first = await migrate();
  expect(first).toMatchObject({ exitCode: 0, stderr: '' });
  expect(first.stdout).toMatch(/^Migrations applied: [1-9]\d*\n$/);
  expect(await migrate()).toEqual({ exitCode: 0, stdout: 'No migration is pending\n', stderr: '' });
});

test('on a terminal, migrate shows how much of it is done', async () => {
  await using database = await createDatabase('');
  const migrate = `script -qec 'node src/start.js migrate' /dev/null`;
  const { stdout } = await runShell(migrate, { DATABASE_URL: database.url });
  const [, applied = ''] = /Migrations applied: (\d+)\r?\n/.exec(stdout) ?? [];
  const steps = [...stdout.replaceAll(CLEAR_LINE, '\n').matchAll(/^Applying migrations: (\d+) of (\d+) …$/gm)];
  expect(steps.map(([, done, total]) => [done, total])).toEqual(
    Array.from({ length: Number(applied) }, (_, done) => [String(done), applied]),
  );
  expect(steps.length).toBeGreaterThan(1);
});

test('distribute migrates a new database, and says that it is not on Citus', async () => {
  await using database = await createDatabase('');
  const { exitCode, stderr } = await runCommand('distribute', { DATABASE_URL: database.url });
  expect(exitCode).toBe(1);
  expect(stderr).toBe(
    'usher: The tables cannot be distributed: the database is not on Citus: it has no extension citus\n',
  );
  expect(await database.sql`select from usher.users`).toHaveLength(0);
});

test('secrets says which files it created, and which were there', async () => {
  const directory = await createDirectory();
  await writeFile(join(directory, 'admin-key'), 'an-admin-key-that-was-there-before-this-run');
  const { exitCode, stdout } = await runShell(`node src/run.js src/config/create-secrets.ts ${directory}`);
  expect(exitCode).toBe(0);
  expect(stdout).toContain(`${directory}/admin-key: kept, as it was there\n`);
  for (const name of ['auth-signing-keys.json', 'oidc-signing-keys.json', 'encryption-key'])
    expect(stdout).toContain(`${directory}/${name}: created\n`);
});

test.each([
  ['without a directory', () => '', 'Usage: npm run secrets <directory>'],
  ['with two directories', () => 'one two', 'Usage: npm run secrets <directory>'],
  ['where it cannot write', (file: string) => `${file}/secrets`, 'ENOTDIR: not a directory'],
  ['where nobody can create a directory', () => '/proc/usher/secrets', 'ENOENT: no such file or directory'],
  ['where a secret is broken', (_: string, directory: string) => directory, 'encryption-key must hold 32 bytes'],
])('secrets says in one line why it fails %s', async (_, choose, message) => {
  const directory = await createDirectory();
  const file = join(directory, 'encryption-key');
  await writeFile(file, 'half');
  const { exitCode, stdout, stderr } = await runShell(
    `timeout -s KILL 60 node src/run.js src/config/create-secrets.ts ${choose(file, directory)}`,
  );
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr).toMatch(/^usher: .+\n$/);
  expect(stderr).toContain(message);
});

test('check works before the first start, and leaves nothing', async () => {
  const directory = await createDirectory();
  const port = await findFreePort();
  const run = [process.execPath, join(REPOSITORY, 'src/start.js'), 'check', '--json'].join(' ');
  const { exitCode, stdout, stderr } = await runShell(`cd ${directory} && ${run}`, { PORT: String(port) });
  expect({ exitCode, stderr, files: await readdir(directory) }).toEqual({ exitCode: 0, stderr: '', files: [] });
  const { failures, findings } = JSON.parse(stdout);
  expect({ failures, checks: findings.map(({ check }: { check: string }) => check) }).toEqual({
    failures: 0,
    checks: ['settings', 'files', 'ports', 'database', 'passkeys'],
  });
});
