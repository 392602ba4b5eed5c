import type { Run } from '../../database/pool/database.ts';
import { statement, t } from '../../database/sql/template.ts';

const COUNTS = { declared: t.integer, gone: t.integer };

/** Returns how many applications `APPLICATIONS_FILE` declares, and how many it has declared before. */
export async function countDeclared(run: Run): Promise<{ readonly declared: number; readonly gone: number }> {
  const [counts] = await run(selectCounts, {});
  return counts as NonNullable<typeof counts>;
}

const selectCounts = statement('count_declared_applications', COUNTS)`
  select count(*) filter (where declared_by_file)::int as declared,
    count(*) filter (where not declared_by_file)::int as gone
  -- Equivalent: conjunct: neither count has more, but it selects the index
  from applications where declared_by_file is not null and deleted_at is null`;
