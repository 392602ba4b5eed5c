import type { TestDatabase } from './database.ts';

/** Creates two of the tables that Usher had before 1.0.0, with a row each. The first ones were in other schemas. */
export async function createUnreleasedTables(
  { sql }: Pick<TestDatabase, 'sql'>,
  schema = 'usher',
  ofJournal = schema,
): Promise<void> {
  for (const name of new Set([schema, ofJournal])) await sql`create schema if not exists ${sql(name)}`;
  await sql`
    create table ${sql(ofJournal)}.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`;
  await sql`insert into ${sql(ofJournal)}.__drizzle_migrations (hash, created_at) values ('a hash', 1795170000000)`;
  await sql`
    create table ${sql(schema)}.login_intents (id uuid primary key, redirect_uri text not null, state text not null)`;
  await sql`
    insert into ${sql(schema)}.login_intents values (gen_random_uuid(), 'https://app.test/callback', 'a state')`;
}
