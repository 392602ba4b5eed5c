/** The progress of the expiry job in tables of which it deletes only some rows. */
import { expiryMarks } from '../database/schema/operations-schema.ts';
import type { Run } from '../database/sql/statement.ts';
import { p, statement } from '../database/sql/template.ts';

/** Returns up to which instant rows are deleted, or undefined if none has been. */
export async function readExpiryMark(run: Run, name: string): Promise<Date | undefined> {
  const [mark] = await run(selectMark, { name });
  return mark?.reachedAt;
}

export async function moveExpiryMark(run: Run, name: string, reachedAt: Date): Promise<void> {
  await run(setMark, { name, reachedAt });
}

const selectMark = statement('select_expiry_mark', { reachedAt: expiryMarks.reachedAt })`
  select reached_at from expiry_marks where name = ${p.text('name')}`;

/** Keeps the later instant, because another replica may have deleted more. */
const setMark = statement('set_expiry_mark')`
  insert into expiry_marks as m (name, reached_at) values (${p.text('name')}, ${p.instant('reachedAt')})
  on conflict (name) do update set reached_at = greatest(m.reached_at, excluded.reached_at)`;
