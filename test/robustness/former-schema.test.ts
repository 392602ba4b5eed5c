/** Versions that had their tables in the schema `public`, before DATABASE_SCHEMA. */
import { expect, test } from 'vitest';
import { OPERATIONS } from '../../src/api/catalogue.ts';
import { migrateDatabase } from '../../src/database/migrate.ts';
import { createDatabase, describeTables, type TestDatabase } from '../support/database.ts';
import { startLoad } from '../support/load.ts';
import { migrationsBefore } from '../support/migrations.ts';
import { call, mainProtocolOf } from '../support/protocols.ts';
import { credentialFor, sampleFields } from '../support/samples.ts';
import { clientsOf, createTenant, createTestUser, logIn, startTestService, testConfig } from '../support/service.ts';
import { runSmokeTest } from '../support/smoke-test.ts';

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
