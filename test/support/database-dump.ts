/** Everything that a database holds, as text. */
import type { TestDatabase } from './database.ts';

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
