/** The migrations of other versions of Usher. */
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type MigrationOptions, migrateDatabase } from '../../src/database/migrate.ts';
import { createDirectory } from './directory.ts';
import { REPOSITORY } from './process.ts';

interface Entry {
  readonly tag: string;
  readonly when: number;
}

/** Returns a copy of the migrations that ends before the one with that name. */
export function migrationsBefore(name: string) {
  return copyMigrations((entries) =>
    entries.slice(
      0,
      entries.findIndex(({ tag }) => tag.endsWith(name)),
    ),
  );
}

/** Migrates as another version would: with the present migrations up to `last`, and later ones after them. */
export async function migrateWith(
  url: string,
  { last, later = [], ...options }: { last?: string; later?: readonly string[] } & Omit<MigrationOptions, 'folder'>,
): Promise<void> {
  const folder = await copyMigrations((entries) => {
    const present = entries.filter(({ tag }) => last === undefined || tag <= last);
    const latest = Math.max(...present.map(({ when }) => when));
    return [...present, ...later.map((_, index) => ({ when: latest + 1 + index, tag: `later_${index}` }))];
  });
  for (const [index, text] of later.entries()) await writeFile(join(folder, `later_${index}.sql`), text);
  await migrateDatabase(url, { ...options, folder });
}

async function copyMigrations(choose: (entries: readonly Entry[]) => readonly Entry[]) {
  const copy = await createDirectory();
  await cp(join(REPOSITORY, 'drizzle'), copy, { recursive: true });
  const file = join(copy, 'meta/_journal.json');
  const journal = JSON.parse(await readFile(file, 'utf8'));
  await writeFile(file, JSON.stringify({ ...journal, entries: choose(journal.entries) }));
  return copy;
}
