/** The schema of the tables: beside foreign tables, under another name, and after a version that had it in `public`. */
import { expect, test } from 'vitest';
import { OPERATIONS } from '../../src/api/catalogue.ts';
import { migrateDatabase } from '../../src/database/migrate.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startLoad } from '../support/load.ts';
import { migrationsBefore } from '../support/migrations.ts';
import { call, mainProtocolOf } from '../support/protocols.ts';
import { credentialFor, sampleFields } from '../support/samples.ts';
import { clientsOf, createTenant, createTestUser, logIn, startTestService, testConfig } from '../support/service.ts';
import { runSmokeTest } from '../support/smoke-test.ts';

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

test('moves the tables of an earlier version from public, which serves on without a failure', async () => {
  await using database = await createDatabase('');
  await using former = await startFormer(database);
  const tenant = await createTenant(former);
  const user = await createTestUser(former);
  const authToken = await logIn(former, tenant, user);
  const { session } = await clientsOf(former, tenant).auth.exchangeToken({ authToken });
  const rows = await countRows(database, 'public');

  const load = startLoad({ smokeTest: () => runSmokeTest(former).then(() => 'ok') }, { callers: 2 });
  await expect.poll(() => load.answers.length).toBeGreaterThan(4);
  await using service = await startTestService({ database, like: { ...former.config, databaseSchema: 'usher' } });
  const { length } = load.answers;
  await expect.poll(() => load.answers.length).toBeGreaterThan(length + 4);
  const answers = await load.stop();
  expect(answers.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);

  expect(rows).toMatchObject({ sessions: 1, users: 1 });
  expect(await describeTables(database, ['public', 'drizzle'])).toEqual([]);
  expect(await clientsOf(service, tenant).auth.exchangeToken({ authToken })).toMatchObject({ session });
  await runSmokeTest(service);

  // Its statements read and write views now.
  for (const operation of OPERATIONS) {
    const { method } = operation;
    const fields = await sampleFields(method, { service: former, tenant });
    const answer = await call(mainProtocolOf(method), former.url, method, fields, credentialFor(operation, tenant));
    expect(answer, method.name).toMatchObject({ code: 'ok' });
  }
  const counts = await countRows(database, 'usher');
  expect(counts).toEqual(await countRows(database, 'public'));
  expect(counts.check_ins).toBeGreaterThan(0);
});

test('moves the tables of any earlier version with their rows, once, and shows that version its journal', async () => {
  await using database = await createDatabase('');
  const before = await migrationsBefore('sessions');
  await migrateFormer(database, before);
  await database.sql`
    insert into public.users (id, email, wallet_address, created_at)
    values (gen_random_uuid(), 'a@example.com', 'wallet', now())`;
  await Promise.all([1, 2, 3].map(() => migrateDatabase(database.url)));
  expect(await database.sql`select email from users`).toEqual([{ email: 'a@example.com' }]);
  expect(await database.sql`select * from drizzle.__drizzle_migrations order by id`).toEqual([
    ...(await database.sql`select * from __drizzle_migrations order by id`),
  ]);
  // A foreign key of the earlier version, and a table that it did not have.
  await expect(database.sql`
    insert into public.api_keys (application_id, id, digest, created_at)
    values (gen_random_uuid(), gen_random_uuid(), '', now())`).rejects.toThrow('foreign key');
  expect(await database.sql`select to_regclass('public.session_ids') as view`).toEqual([{ view: null }]);
});

/** Starts a replica whose tables are in `public`, as those of versions before DATABASE_SCHEMA. */
async function startFormer(database: TestDatabase) {
  const service = await startTestService({ database, like: testConfig(database.url, { DATABASE_SCHEMA: 'public' }) });
  await moveJournal(database);
  return service;
}

async function migrateFormer(database: TestDatabase, folder: string): Promise<void> {
  await migrateDatabase(database.url, { schema: 'public', folder });
  await moveJournal(database);
}

async function moveJournal({ sql }: TestDatabase): Promise<void> {
  await sql`create schema drizzle`;
  await sql`alter table public.__drizzle_migrations set schema drizzle`;
}

async function describeTables({ sql }: TestDatabase, schemas: readonly string[]) {
  return sql`
    select table_schema as schema, table_name as name, string_agg(column_name, ' ' order by ordinal_position) as columns
    from information_schema.tables join information_schema.columns using (table_schema, table_name)
    where table_type = 'BASE TABLE' and table_schema = any(${schemas as string[]}) group by 1, 2 order by 1, 2`;
}

/** Returns the number of rows by table or view. */
async function countRows({ sql }: TestDatabase, schema: string): Promise<Record<string, number>> {
  const tables = await sql`
    select table_name as name from information_schema.tables
    where table_schema = ${schema} and table_name not like '__drizzle_%' order by 1`;
  const counts = tables.map(async ({ name }) => {
    const [row] = await sql`select count(*)::int as count from ${sql(schema)}.${sql(name)}`;
    return [name, row?.count] as const;
  });
  return Object.fromEntries(await Promise.all(counts));
}
