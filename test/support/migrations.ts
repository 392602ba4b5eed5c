import { cp, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { REPOSITORY } from './process.ts';

/** Returns a copy of the migrations that ends before the one with that name. */
export async function migrationsBefore(name: string) {
  const copy = await mkdtempDisposable(join(tmpdir(), 'usher-migrations-'));
  await cp(join(REPOSITORY, 'drizzle'), copy.path, { recursive: true });
  const file = join(copy.path, 'meta/_journal.json');
  const journal = JSON.parse(await readFile(file, 'utf8'));
  const end = journal.entries.findIndex(({ tag }: { tag: string }) => tag.endsWith(name));
  await writeFile(file, JSON.stringify({ ...journal, entries: journal.entries.slice(0, end) }));
  return copy;
}
