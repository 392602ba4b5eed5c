import { readFile } from 'node:fs/promises';
import { statement, t } from '../../../database/sql/template.ts';
import type { Call } from '../../../domain/core/call.ts';

const JOURNAL = new URL('../../../../drizzle/meta/_journal.json', import.meta.url);

/** Returns how many migrations this version has, and how many of them the database lacks. */
export async function readMigrations({ run }: Pick<Call, 'run'>): Promise<{ known: number; pending: number }> {
  const { entries }: { entries: { when: number }[] } = JSON.parse(await readFile(JOURNAL, 'utf8'));
  const [last] = await run(selectLastMigration, {});
  const pending = entries.filter(({ when }) => when > Number(last?.createdAt ?? -1)).length;
  return { known: entries.length, pending };
}

const selectLastMigration = statement('select_last_migration', { createdAt: t.bigint })`
  select created_at from usher_migrations order by id desc limit 1`;
