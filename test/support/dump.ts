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

/** What Postgres itself keeps of rows, or of statements that ran. */
const CATALOG = ['pg_statistic', 'pg_stats', 'pg_stats_ext', 'pg_stats_ext_exprs', 'pg_stat_activity'];

/** Returns the rows of each table, in every schema, and of the catalogs that may hold values of rows. */
export async function dumpDatabase({ sql }: Pick<TestDatabase, 'sql'>): Promise<Map<string, string[]>> {
  const tables = await sql<{ schema: string; name: string }[]>`
    select schemaname as schema, tablename as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema')
    union all select 'pg_catalog', name from unnest(${CATALOG}::text[]) name`;
  const dump = new Map<string, string[]>();
  for (const { schema, name } of tables) {
    const rows = await sql.unsafe(`select dumped::text as row from "${schema}"."${name}" as dumped`);
    // Its own text is in the list of activities.
    dump.set(
      name,
      rows.map(({ row }) => row as string).filter((row) => !row.includes('as dumped')),
    );
  }
  return dump;
}

/** Returns the tables with a row that has one of the texts in it, in any case. */
export function tablesWith(dump: ReadonlyMap<string, readonly string[]>, texts: readonly string[]): string[] {
  const sought = texts.map((text) => text.toLowerCase());
  const holds = (row: string) => sought.some((text) => row.toLowerCase().includes(text));
  return [...dump].filter(([, rows]) => rows.some(holds)).map(([name]) => name);
}
