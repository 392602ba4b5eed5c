import type { TestDatabase } from './database.ts';

/** The rows of every table that is not empty, as JSON, by the name of the table. */
export type Dump = Readonly<Record<string, readonly string[]>>;

/** Jobs write them at any time. */
const OF_JOBS = ['expiry_marks', 'hourly_counts'];

/** Returns the rows of every table that calls write, or those in which the text stands in any column. */
export async function dumpTables({ sql }: Pick<TestDatabase, 'sql'>, text = ''): Promise<Dump> {
  const tables = await sql<{ schema: string; name: string }[]>`
    select table_schema as schema, table_name as name from information_schema.tables
    where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')
      and table_name <> all(${OF_JOBS}) order by name`;
  // One statement: several could show a change in one table and not in another. The use of a key is stored by a job.
  const selects = tables.map(
    ({ schema, name }) => sql`
      select ${name} as name, (to_jsonb(each) - 'last_used_at')::text as row from ${sql(schema)}.${sql(name)} as each`,
  );
  const rows = await sql<{ name: string; row: string }[]>`
    select * from (${selects.reduce((all, each) => sql`${all} union all ${each}`)}) as rows
    where position(${text} in row) > 0 order by name, row`;
  const ofTables = Object.groupBy(rows, ({ name }) => name);
  return Object.fromEntries(Object.entries(ofTables).map(([name, rows = []]) => [name, rows.map(({ row }) => row)]));
}
