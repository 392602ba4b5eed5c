/** The migrations of other versions of Usher. */
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type MigrationOptions, migrateDatabase } from '../../src/database/migrate/migrate.ts';
import { createDirectory } from './directory.ts';
import { REPOSITORY } from './process.ts';

/** Migrates as a later version would: with the present migrations, and further ones after them. */
export async function migrateWith(
  url: string,
  { later, ...options }: { later: readonly string[] } & Omit<MigrationOptions, 'folder'>,
): Promise<void> {
  const folder = await createDirectory();
  await cp(join(REPOSITORY, 'drizzle'), folder, { recursive: true });
  const file = join(folder, 'meta/_journal.json');
  const journal = JSON.parse(await readFile(file, 'utf8'));
  const latest = Math.max(...journal.entries.map(({ when }: { when: number }) => when));
  for (const [index, text] of later.entries()) {
    const tag = `later_${index}`;
    journal.entries.push({ when: latest + 1 + index, tag });
    await writeFile(join(folder, `${tag}.sql`), text);
  }
  await writeFile(file, JSON.stringify(journal));
  await migrateDatabase(url, { ...options, folder });
}
