import type { TestDatabase } from './database.ts';

const TABLES = [
  ...['applications', 'api_keys', 'users', 'login_intents', 'sessions'],
  ...['webhooks', 'events', 'check_ins'],
];

/** By a trigger `refuse`, which quotes the whole row wherever an error has room for it: the worst that Postgres can do. */
export async function refuseWrites({ sql }: Pick<TestDatabase, 'sql'>): Promise<void> {
  await sql`
    create function refuse() returns trigger language plpgsql as $$
    begin
      raise exception using message = 'no ' || new::text, detail = new::text, hint = new::text,
        column = 'c', constraint = 'k', table = 't';
    end $$`;
  for (const table of TABLES) {
    await sql`create trigger refuse before insert or update on ${sql(table)} for each row execute function refuse()`;
  }
}
