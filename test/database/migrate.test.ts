import { expect, test } from 'vitest';
import { migrateDatabase } from '../../src/database/migrate.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';

test('replicas that start at once migrate an empty database once', async () => {
  await using database = await cloneDatabase();
  const expected = await describeTables(database);
  const [journal] = await database.sql`select count(*)::int as count from drizzle.__drizzle_migrations`;
  await database.sql`drop schema drizzle cascade`;
  await database.sql`drop schema public cascade`;
  await database.sql`create schema public`;

  await Promise.all(Array.from({ length: 4 }, () => migrateDatabase(database.url)));
  expect(await describeTables(database)).toEqual(expected);
  expect(await database.sql`select count(*)::int as count from drizzle.__drizzle_migrations`).toEqual([journal]);
});

test('migrating again keeps the rows', async () => {
  await using database = await cloneDatabase();
  const before = await describeTables(database);
  await database.sql`insert into users values (gen_random_uuid(), 'ada@example.com', null, null, 'wallet', now())`;
  await migrateDatabase(database.url);
  expect(await describeTables(database)).toEqual(before);
  expect(await database.sql`select email from users`).toEqual([{ email: 'ada@example.com' }]);
});

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

async function describeTables({ sql }: TestDatabase): Promise<readonly unknown[]> {
  return sql`
    select table_name, column_name, data_type, is_nullable from information_schema.columns
    where table_schema = 'public' order by table_name, ordinal_position`;
}
