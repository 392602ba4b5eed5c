/** Commands of `package.json`, on a Postgres that has no Citus. With Citus: test/scale/citus-migrations.test.ts. */
import { expect, test } from 'vitest';
import { createDatabase } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';

test.each(['migrate', 'distribute'])('%s needs a DATABASE_URL', async (command) => {
  const { exitCode, stderr } = await runCommand(command, {});
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: 'usher: DATABASE_URL is required\n' });
});

test('migrate says how much it has done', async () => {
  await using database = await createDatabase('');
  const migrate = () => runCommand('migrate', { DATABASE_URL: database.url });
  const first = await migrate();
  expect(first).toMatchObject({ exitCode: 0, stderr: '' });
  expect(first.stdout).toMatch(/^Migrations applied: [1-9]\d*\n$/);
  expect(await migrate()).toEqual({ exitCode: 0, stdout: 'No migration is pending\n', stderr: '' });
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
