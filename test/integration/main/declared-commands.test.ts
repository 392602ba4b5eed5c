/** The commands of declared applications, as processes. */
import { hash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isApiKey } from '../../../src/domain/applications/api-key.ts';
import { cloneDatabase } from '../../support/database.ts';
import { fileOf, GRAFANA, openDeclaredFixture } from '../../support/declared-fixture.ts';
import { createDirectory } from '../../support/directory.ts';
import { runCommand } from '../../support/run-command.ts';

test('new-key prints a key with its digest, and needs no settings', async () => {
  const { exitCode, stdout } = await runCommand('new-key', {});
  const [, apiKey = '', digest] = /^key +(\S+)\nsha256 +([0-9a-f]{64})\n$/.exec(stdout) ?? [];
  expect(exitCode).toBe(0);
  expect(isApiKey(apiKey)).toBe(true);
  expect(hash('sha256', apiKey, 'hex')).toBe(digest);
});

test('plan and export need a role that reads, and a plan says by its exit code whether anything changes', async () => {
  await using database = await cloneDatabase();
  await using declared = openDeclaredFixture(database);
  await declared.apply(fileOf(GRAFANA));
  const { sql } = database;
  const role = `reader_${hash('sha256', database.url, 'hex').slice(0, 12)}`;
  await sql.unsafe(`create role ${role} login password 'reads'; grant usage on schema usher to ${role};
    grant select on all tables in schema usher to ${role}`);
  try {
    const url = new URL(database.url);
    url.username = role;
    url.password = 'reads';
    const env = { DATABASE_URL: url.href };
    const path = join(await createDirectory(), 'applications.json');
    const planOf = async (text: string) => {
      await writeFile(path, text);
      return runCommand('applications', env, 'plan', path);
    };
    const exported = await runCommand('applications', env, 'export');
    expect(exported).toMatchObject({ exitCode: 0, stdout: await declared.export() });
    expect(await planOf(exported.stdout)).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });
    expect(await planOf(fileOf({ ...GRAFANA, askName: true }))).toMatchObject({
      exitCode: 2,
      stdout: 'grafana: askName false → true\n',
    });
    expect(await planOf(fileOf({ ...GRAFANA, askName: 7 }))).toMatchObject({
      exitCode: 1,
      stderr: 'usher: applications[0] (grafana): askName must be true or false\n',
    });
    expect(await runCommand('applications', env, 'plan', '/nowhere')).toMatchObject({ exitCode: 1, stdout: '' });
    expect(await runCommand('applications', env)).toMatchObject({
      exitCode: 1,
      stderr: 'usher: The command is applications plan <file>, or applications export\n',
    });
    expect(await runCommand('applications', {}, 'export')).toMatchObject({
      exitCode: 1,
      stderr: 'usher: DATABASE_URL is required\n',
    });
  } finally {
    await sql.unsafe(`drop owned by ${role}; drop role ${role}`);
  }
});
