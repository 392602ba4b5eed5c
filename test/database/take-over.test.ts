/** The first start of this version on the database of version 0.1. */

import { expect, test } from 'vitest';
import { migrateDatabase } from '../../src/database/migrate.ts';
import { openClient } from '../../src/database/open-client.ts';
import { ACCOUNT_CLIENT_ID } from '../../src/domain/applications/account-application.ts';
import { CONSOLE_CLIENT_ID } from '../../src/domain/applications/console-application.ts';
import { cloneDatabase, describeTables, type TestDatabase } from '../support/database.ts';
import { createFormerDatabase } from '../support/version-0.1.ts';

/** What the take-over removes. */
const REMOVED_TABLES = ['__drizzle_migrations', 'shared_wallet_addresses'];
const REMOVED_COLUMNS = ['instants', 'last_id'];

test.each(['usher', 'public'])(
  'keeps every row of the schema %s, and makes its tables those of a new database',
  async (schema) => {
    await using database = await createFormerDatabase(schema);
    const tables = await fillTables(database, schema);
    const before = await readRows(database, schema, tables);
    await Promise.all([1, 2, 3].map(() => migrateDatabase(database.url, { schema })));

    const kept = tables.filter((table) => !REMOVED_TABLES.includes(table));
    const rows = before.filter(({ table }) => kept.includes(table));
    // Migrations since then have added columns.
    expect(await readRows(database, schema, kept)).toMatchObject(rows);
    await using fresh = await cloneDatabase();
    expect(await describeSchema(database, schema)).toEqual(await describeSchema(fresh, 'usher'));
    const readJournal = ({ sql }: TestDatabase, schema: string) =>
      sql`select hash, created_at from ${sql(schema)}.usher_migrations`;
    expect(await readJournal(database, schema)).toEqual([...(await readJournal(fresh, 'usher'))]);
  },
);

/** Of the applications that migrations create. */
const OWN_CLIENT_IDS = [ACCOUNT_CLIENT_ID, CONSOLE_CLIENT_ID];

test('removes what only versions before the last 0.1 used, and no view of others', async () => {
  await using database = await createFormerDatabase();
  const { sql } = database;
  await fillTables(database, 'usher');
  await sql`update sessions set method = ''`;
  await sql`update login_codes set email = null`;
  await sql`update known_origins set user_id = null`;
  await sql`update login_intents set method = ''`;
  await sql`create schema drizzle`;
  await sql`create view drizzle.__drizzle_migrations as select * from usher.__drizzle_migrations`;
  await sql`create view public.users as select * from usher.users`;
  await sql`create view public.rate_limits as select * from usher.rate_limits`;
  await sql`create view public.own as select * from usher.users`;
  await migrateDatabase(database.url);
  const views = await sql`select viewname from pg_views where schemaname in ('public', 'drizzle')`;
  expect(views).toEqual([{ viewname: 'own' }]);
  const [row] = await sql`
    select (select count(*) from sessions)::int as sessions, (select count(*) from login_codes)::int as codes,
      (select count(*) from known_origins)::int as origins, (select method from login_intents) as method`;
  expect(row).toEqual({ sessions: 0, codes: 0, origins: 0, method: null });
});

test('changes nothing where a part of it fails', async () => {
  await using database = await createFormerDatabase();
  const tables = await fillTables(database, 'usher');
  await database.sql`create view public.report as select instants from usher.rate_limits`;
  const read = async () => [await describeSchema(database, 'usher'), await readRows(database, 'usher', tables)];
  const before = await read();
  await expect(migrateDatabase(database.url)).rejects.toThrow(
    'cannot drop column instants of table rate_limits because other objects depend on it',
  );
  expect(await read()).toEqual(before);
});

test('waits for version 0.1 to be stopped, and says so', async () => {
  await using database = await createFormerDatabase();
  const running = openClient(database.url, { max: 1, connection: { application_name: 'usher pool' } });
  await running`select`;
  const reasons: string[] = [];
  const migrated = migrateDatabase(database.url, { onWait: (reason) => reasons.push(reason) });
  await expect.poll(() => reasons).toEqual(['version 0.1 runs on the database: stop it first']);
  await running.end();
  await migrated;
  expect(reasons).toHaveLength(1);
});

test.each([
  ['whose journal ends earlier', 'delete from usher.__drizzle_migrations where id = 2', 'usher'],
  [
    'whose tables are in public',
    'create schema drizzle; alter table public.__drizzle_migrations set schema drizzle',
    'public',
  ],
])('refuses a database %s, and changes nothing', async (_, setup, schema) => {
  await using database = await createFormerDatabase(schema);
  await database.sql.unsafe(setup);
  const schemas = ['usher', 'public', 'drizzle'];
  const before = await describeTables(database, schemas);
  await expect(migrateDatabase(database.url)).rejects.toThrow(
    /^The database at \S+ cannot be used: Its tables are older than the last version 0\.1 left them\. Start that version on it once, then this one$/,
  );
  expect(await describeTables(database, schemas)).toEqual(before);
});

/** Inserts a row with a value in every column into each table, and returns the tables. */
async function fillTables({ sql }: TestDatabase, schema: string): Promise<readonly string[]> {
  const tables = await sql`
    select relname as name, array_agg(attname order by attnum) as columns,
      string_agg(case format_type(atttypid, null)
        when 'uuid' then $$'00000000-0000-4000-8000-000000000001'$$
        when 'text' then $$'text'$$
        when 'bytea' then $$'\\x01'$$
        when 'boolean' then 'true'
        when 'timestamp with time zone' then $$'2026-01-02T03:04:05.678Z'$$
        when 'text[]' then $$'{text}'$$
        when 'timestamp with time zone[]' then $$'{2026-01-02}'$$
        else '1'
      end, ', ' order by attnum) as values
    from pg_class join pg_attribute on attrelid = pg_class.oid
    where relkind = 'r' and relnamespace = ${schema}::regnamespace and relname <> '__drizzle_migrations' and attnum > 0
    group by 1
    -- What others refer to comes first.
    order by relname not in ('applications', 'users'), relname <> 'events', 1`;
  for (const { name, columns, values } of tables) {
    await sql`
      insert into ${sql(schema)}.${sql(name)} (${sql(columns)}) overriding system value values (${sql.unsafe(values)})`;
  }
  return tables.map(({ name }) => name);
}

async function readRows({ sql }: TestDatabase, schema: string, tables: readonly string[]) {
  const read = async (table: string) => ({
    table,
    rows: [
      ...(await sql`
      select to_jsonb(each) - ${REMOVED_COLUMNS}::text[] as row from ${sql(schema)}.${sql(table)} as each
      where to_jsonb(each) ->> 'client_id' is null or not (to_jsonb(each) ->> 'client_id' = any (${OWN_CLIENT_IDS}::text[]))`),
    ],
  });
  return Promise.all(tables.map(read));
}

/** Returns columns, constraints, indexes and settings of all tables, without the order of columns. */
async function describeSchema({ sql }: TestDatabase, schema: string) {
  const parts = await sql`
    with tables as (
      select oid, relname, reloptions from pg_class where relkind = 'r' and relnamespace = ${schema}::regnamespace
    )
    select relname as "table", format('%s: %s', relname, reloptions) as part from tables
    union all
    select relname, format('%s: %s, not null %s, default %s, identity %s, statistics %s', attname,
      format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid), attidentity, attstattarget)
    from tables join pg_attribute on attrelid = tables.oid and attnum > 0 and not attisdropped
    left join pg_attrdef on adrelid = attrelid and adnum = attnum
    union all
    select relname, format('%s: %s', conname, pg_get_constraintdef(pg_constraint.oid))
    from tables join pg_constraint on conrelid = tables.oid where contype <> 'n'
    union all
    select relname, format('%s, statistics %s', pg_get_indexdef(indexrelid), (
      select string_agg(format('%s', attstattarget), ' ' order by attnum) from pg_attribute where attrelid = indexrelid))
    from tables join pg_index on indrelid = tables.oid
    order by 1, 2`;
  return parts.map(({ table, part }) => `${table} ${part}`.replaceAll(`${schema}.`, ''));
}
