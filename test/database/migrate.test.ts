import { expect, test } from 'vitest';
import { migrateDatabase } from '../../src/database/migrate.ts';
import { cloneDatabase } from '../support/database.ts';

test('a migration leaves no connection and no lock behind', async () => {
  await using database = await cloneDatabase();
  const readSessions = async () =>
    (await database.sql`select pid from pg_stat_activity where datname = current_database()`).map(({ pid }) => pid);
  const before = await readSessions();
  await migrateDatabase(database.url);
  await expect.poll(readSessions).toEqual(before);
  const locks = await database.sql`
    select pid from pg_locks join pg_database on pg_database.oid = pg_locks.database
    where locktype = 'advisory' and datname = current_database()`;
  expect(locks).toEqual([]);
});

test('names the host but not the password of a database that cannot be reached', async () => {
  await expect(migrateDatabase('postgres://usher:secret@127.0.0.1:1/usher')).rejects.toThrow(
    /^The database at 127\.0\.0\.1:1 cannot be reached: connect ECONNREFUSED 127\.0\.0\.1:1$/,
  );
});
