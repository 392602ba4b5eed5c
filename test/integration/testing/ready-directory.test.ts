/** What a run finds in the data directory that it takes from another one. */
import { existsSync } from 'node:fs';
import { appendFile, cp, mkdir, readdir, readFile, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { computeKey, makeReady } from '../../../src/testing/ready-directory.ts';
import { createDirectory } from '../../support/directory.ts';

/** Larger than a record of an archive, so that an archive may end within it. */
const PAGE = 'x'.repeat(100_000);

test('a run has the files of the run before, with their modes, in a directory of its own', async () => {
  const runs = await openRuns();
  await runs.make('first');
  const directory = await runs.make('second');
  expect(runs.filled).toEqual(['first']);
  expect(await readPages(directory)).toEqual(['of first', PAGE]);
  expect((await stat(join(directory, 'postgres'))).mode & 0o777).toBe(0o700);
  expect(await readdir(directory)).toEqual(['postgres']);
  await writeFile(join(directory, 'postgres/base/1'), 'changed');
  expect(await readPages(await runs.make('third'))).toEqual(['of first', PAGE]);
});

test.each([0, 0.3, 0.8])('an archive that ends too early is not used, and is replaced (%d)', async (share) => {
  const runs = await openRuns();
  await runs.make('first');
  const archive = await runs.archive();
  await truncate(archive, Math.floor(((await stat(archive)).size * share) / 512) * 512);
  expect(await readPages(await runs.make('second'))).toEqual(['of second', PAGE]);
  expect(await readPages(await runs.make('third'))).toEqual(['of second', PAGE]);
  expect(runs.filled).toEqual(['first', 'second']);
});

test('an archive that lacks only its last file is not used', async () => {
  const runs = await openRuns();
  await runs.make('first');
  const archive = await runs.archive();
  const end = (await readFile(archive)).lastIndexOf('complete');
  await truncate(archive, end);
  await runs.make('second');
  expect(runs.filled).toEqual(['first', 'second']);
});

test('runs that begin at the same time have all files, and leave one archive', async () => {
  const runs = await openRuns();
  const directories = await Promise.all(['first', 'second', 'third'].map(runs.make));
  for (const directory of directories) expect(await readPages(directory)).toEqual([expect.anything(), PAGE]);
  expect(await readdir(runs.cache)).toHaveLength(1);
});

test('a run that fails while it makes its files leaves no archive', async () => {
  const runs = await openRuns();
  const fill = () => Promise.reject(new Error('no Postgres'));
  await expect(makeReady(await createDirectory(), { cache: runs.cache, fill })).rejects.toThrow('no Postgres');
  expect(existsSync(runs.cache)).toBe(false);
});

test('archives that were not used for long are removed, apart from the newest', async () => {
  const runs = await openRuns();
  await mkdir(runs.cache);
  const names = ['a.tar', 'b.tar', 'c.tar', 'd.tar', 'e.tar.unfinished'];
  for (const [days, name] of names.entries()) {
    await writeFile(join(runs.cache, name), '');
    const usedAt = new Date(Date.now() - (days + 1) * 86_400_000);
    await utimes(join(runs.cache, name), usedAt, usedAt);
  }
  await writeFile(join(runs.cache, 'of-another-run.tar.unfinished'), '');
  await runs.make('first');
  const left = (await readdir(runs.cache)).filter((name) => !name.startsWith(runs.key));
  expect(left.sort()).toEqual(['a.tar', 'b.tar', 'of-another-run.tar.unfinished']);
});

test.each([
  'drizzle/meta/_journal.json',
  'node_modules/.package-lock.json',
  'src/database/embedded/embedded-cluster.ts',
  'src/database/migrate/journal.ts',
  'src/config/database-url.ts',
  'src/testing/ready-directory.ts',
])('a change of %s needs another archive', async (file) => {
  const copy = await copyRepository();
  const before = await computeKey(copy);
  await appendFile(join(copy, file), ' ');
  expect(await computeKey(copy)).not.toBe(before);
});

test('a new migration needs another archive, and a change of a call does not', async () => {
  const copy = await copyRepository();
  expect(await computeKey(copy)).toBe(await computeKey());
  await mkdir(join(copy, 'src/domain'));
  await writeFile(join(copy, 'src/domain/new.ts'), '');
  expect(await computeKey(copy)).toBe(await computeKey());
  await writeFile(join(copy, 'drizzle/9999_new.sql'), '');
  expect(await computeKey(copy)).not.toBe(await computeKey());
});

/** Runs with a cache of their own, whose files say which of them has made them. */
async function openRuns() {
  const cache = join(await createDirectory(), 'cache');
  const filled: string[] = [];
  const key = await computeKey();
  return {
    cache,
    key,
    filled,
    archive: async () => join(cache, `${key}.tar`),
    async make(name: string): Promise<string> {
      const directory = join(await createDirectory(), name);
      await makeReady(directory, {
        cache,
        async fill() {
          filled.push(name);
          await mkdir(join(directory, 'postgres'), { mode: 0o700 });
          await mkdir(join(directory, 'postgres/base'));
          await writeFile(join(directory, 'postgres/base/1'), `of ${name}`);
          await writeFile(join(directory, 'postgres/base/2'), PAGE);
        },
      });
      return directory;
    },
  };
}

function readPages(directory: string): Promise<string[]> {
  return Promise.all(['1', '2'].map((page) => readFile(join(directory, 'postgres/base', page), 'utf8')));
}

/** Copies what the key is made of. */
async function copyRepository(): Promise<string> {
  const copy = await createDirectory();
  for (const path of ['drizzle', 'src/database', 'src/config', 'src/testing', 'node_modules/.package-lock.json'])
    await cp(path, join(copy, path), { recursive: true });
  return copy;
}
