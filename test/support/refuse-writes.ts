import type { TestDatabase } from './database.ts';

/** Makes every write fail with an error that quotes the whole row in each of its fields: the worst Postgres can do. */
export async function refuseWrites({ sql }: Pick<TestDatabase, 'sql'>): Promise<void> {
  await sql`
    create function refuse() returns trigger language plpgsql as $$
    begin
      raise exception using message = 'no ' || new::text, detail = new::text, hint = new::text,
        column = 'c', constraint = 'k', table = 't';
    end $$`;
  const tables = await sql`select tablename as name from pg_tables where schemaname = 'usher'`;
  for (const { name } of tables) {
    await sql`create trigger refuse before insert or update on ${sql(name)} for each row execute function refuse()`;
  }
}
