/** Migrations that create indexes on tables that exist. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../../support/database.ts';
import { holdLock } from '../../support/lock.ts';
import { migrateWith } from '../../support/migrations.ts';
import { REPOSITORY } from '../../support/process.ts';

const INDEX = 'CREATE INDEX CONCURRENTLY "events_name_idx" ON "events" ("name") WHERE "events"."name" is not null;';
const INSERT = `
  insert into applications (id, name, client_id, redirect_uris, created_at)
    values (gen_random_uuid(), 'App', gen_random_uuid()::text, '{}', now());
  insert into events (application_id, id, name, created_at) select id, id, 'event', now() from applications
    where name = 'App'
    on conflict do nothing`;

test('an index is created while others write', async () => {
  await using database = await cloneDatabase();
  await using writing = await holdLock(database, INSERT);
  const migrated = migrateWith(database.url, { later: [INDEX] });
  await waitUntilBuilding(database);
  // It does not wait for the migration, which waits for the first.
  await database.sql.begin((transaction) => transaction.unsafe(`set local lock_timeout = '20s'; ${INSERT}`));
  expect(await readIndex(database)).toEqual([{ isValid: false }]);
  await writing.release();
  await migrated;
  expect(await readIndex(database)).toEqual([{ isValid: true }]);
});

test('an index that an interrupted migration has left is replaced', async () => {
  await using database = await cloneDatabase();
  await using writing = await holdLock(database, INSERT);
  const failed = migrateWith(database.url, { later: [INDEX] }).catch((error: Error) => error.message);
  await waitUntilBuilding(database);
  await database.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and query ilike 'create index concurrently%'`;
  expect(await failed).toMatch(/^The database at [^\n]* cannot be reached: the connection was lost$/);
  await writing.release();
  expect(await readIndex(database)).toEqual([{ isValid: false }]);
  await migrateWith(database.url, { later: [INDEX] });
  expect(await readIndex(database)).toEqual([{ isValid: true }]);
});

test('an index that is there already stays', async () => {
  await using database = await cloneDatabase();
  await database.sql.unsafe(INDEX);
  await migrateWith(database.url, { later: [INDEX] });
  expect(await readIndex(database)).toEqual([{ isValid: true }]);
});

test.each(['read committed', 'repeatable read', 'serializable'])(
  'replicas that start together create an index once, where transactions are %s by default',
  async (isolation) => {
    await using database = await cloneDatabase();
    const name = new URL(database.url).pathname.slice(1);
    await database.sql.unsafe(`alter database ${name} set default_transaction_isolation = '${isolation}'`);
    await Promise.all([1, 2, 3, 4].map(() => migrateWith(database.url, { later: [INDEX] })));
    expect(await readIndex(database)).toEqual([{ isValid: true }]);
    const steps = await database.sql`select from usher_migrations group by created_at having count(*) > 1`;
    expect(steps).toHaveLength(0);
  },
);

test('limits of the role end no index', async () => {
  await using database = await cloneDatabase();
  const name = new URL(database.url).pathname.slice(1);
  await database.sql.unsafe(`
    alter database ${name} set statement_timeout = '1s'; alter database ${name} set lock_timeout = '1s';
    alter database ${name} set idle_in_transaction_session_timeout = '1s'`);
  await using writing = await holdLock(database, INSERT);
  const migrated = migrateWith(database.url, { later: [INDEX] });
  await waitUntilBuilding(database, 2);
  await writing.release();
  await migrated;
  expect(await readIndex(database)).toEqual([{ isValid: true }]);
});

test('a migration that creates an index CONCURRENTLY does nothing else', async () => {
  await using database = await cloneDatabase();
  const later = [`ALTER TABLE "events" ADD COLUMN "later" text;--> statement-breakpoint\n${INDEX}`];
  await expect(migrateWith(database.url, { later })).rejects.toThrow('does something else, too: ALTER TABLE "events"');
});

test('every migration creates indexes on tables that exist CONCURRENTLY, in a file of their own', async () => {
  const folder = join(REPOSITORY, 'drizzle');
  const files = (await readdir(folder)).filter((name) => /^\d+_.*\.sql$/.test(name));
  expect(files).not.toEqual([]);
  for (const file of files) {
    const statements = (await readFile(join(folder, file), 'utf8')).split('--> statement-breakpoint');
    const created = statements.flatMap((statement) => /^\s*CREATE TABLE "(\w+)"/.exec(statement)?.[1] ?? []);
    const blocking = statements.filter((statement) => locksOutWrites(statement, created));
    expect({ file, blocking }).toEqual({ file, blocking: [] });
    const concurrent = statements.filter((statement) => statement.includes('INDEX CONCURRENTLY'));
    expect([0, statements.length]).toContain(concurrent.length);
  }
});

/** Returns whether the statement builds an index and keeps others from writing to a table that they know. */
function locksOutWrites(statement: string, created: readonly string[]): boolean {
  const index = /^\s*CREATE (?:UNIQUE )?INDEX (?:IF NOT EXISTS )?"\w+" ON "(\w+)"/.exec(statement);
  const constraint = /^\s*ALTER TABLE "(\w+)" ADD (?:CONSTRAINT .* )?(?:UNIQUE|PRIMARY KEY|EXCLUDE)/.exec(statement);
  const table = index?.[1] ?? constraint?.[1];
  return table !== undefined && !created.includes(table);
}

function readIndex({ sql }: TestDatabase) {
  return sql`select indisvalid as "isValid" from pg_index where indexrelid = to_regclass('usher.events_name_idx')`.then(
    (rows) => [...rows],
  );
}

/** Resolves when the index has waited for other transactions for that long. */
async function waitUntilBuilding({ sql }: TestDatabase, seconds = 0): Promise<void> {
  const waiting = () => sql`
    select from pg_stat_activity
    where datname = current_database() and query ilike 'create index concurrently%' and wait_event_type = 'Lock'
      and now() - query_start > make_interval(secs => ${seconds})`;
  await expect.poll(async () => (await waiting()).length).toBe(1);
}
