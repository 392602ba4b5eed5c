/** The schema of the tables: beside foreign tables, and under another name. */
import { expect, test } from 'vitest';
import { createDatabase, describeTables } from '../../support/database.ts';
import { startTestService, testConfig } from '../../support/service.ts';
import { runSmokeTest } from '../../support/smoke-test.ts';

test('leaves tables and a journal of Drizzle that are not its own alone, and needs no schema public', async () => {
  await using database = await createDatabase('');
  const { sql } = database;
  await sql`create schema drizzle`;
  await sql`create table drizzle.__drizzle_migrations (id serial primary key, hash text, created_at bigint)`;
  await sql`insert into drizzle.__drizzle_migrations values (1, 'foreign', 9000000000000)`;
  for (const table of ['users', 'login_intents']) {
    await sql`create table public.${sql(table)} as select 1 as foreign_column`;
  }
  const before = await describeTables(database, ['public', 'drizzle']);
  await using service = await startTestService({ database });
  await runSmokeTest(service);
  expect(await describeTables(database, ['public', 'drizzle'])).toEqual(before);
  expect(await sql`select * from public.users`).toEqual([{ foreign_column: 1 }]);

  await sql`drop schema public cascade`;
  await using other = await startTestService({ database, like: service.config });
  await runSmokeTest(other);
});

test('has its tables in the schema that DATABASE_SCHEMA names, apart from those of others', async () => {
  await using database = await createDatabase('');
  const schemas = ['first_schema', 'second_schema'];
  await using disposables = new AsyncDisposableStack();
  for (const schema of schemas) {
    const like = testConfig(database.url, { DATABASE_SCHEMA: schema });
    await runSmokeTest(disposables.use(await startTestService({ database, like })));
  }
  const [first = [], second = []] = await Promise.all(schemas.map((schema) => describeTables(database, [schema])));
  expect(first).not.toEqual([]);
  expect(second.map(({ name }) => name)).toEqual(first.map(({ name }) => name));
  expect(await describeTables(database, ['public', 'usher'])).toEqual([]);
});
