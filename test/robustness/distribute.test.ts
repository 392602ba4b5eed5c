import { expect, test } from 'vitest';
import { cloneDatabase } from '../support/database.ts';
import { runShell } from '../support/process.ts';

test('npm run distribute says in one line that a plain Postgres has nothing to distribute to', async () => {
  await using database = await cloneDatabase();
  expect(await runShell(`DATABASE_URL='${database.url}' npm run --silent distribute`)).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: 'usher: The tables cannot be distributed: the database is not on Citus: it has no extension citus\n',
  });
});
