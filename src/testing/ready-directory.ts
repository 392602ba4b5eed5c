import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { startEmbeddedPostgres } from '../database/embedded/embedded-postgres.ts';
import { onServer, withDatabase } from './on-server.ts';
import { readImports } from './read-imports.ts';

const run = promisify(execFile);

/** The migrated, empty database of a ready directory. */
export const TEMPLATE = 'usher_template';

/** The repository, or the installed package. */
const ROOT = join(import.meta.dirname, '../..');
const CACHE = join(modulesOf(ROOT), '.cache/usher-postgres');

/** The last file of an archive, which an archive that lacks its end does not have. */
const LAST = 'complete';

/** How many archives stay in any case: branches differ in what they depend on. */
const KEPT = 4;
/** Others stay for this time after their last use, because a run may still write them. */
const IN_USE_MS = 10 * 60_000;

/**
 * Makes the directory one of the embedded Postgres that was started there, migrated the template and was shut down. It
 * comes out of an archive that a former run has made, if there is one. `fill` makes it from nothing, for eight times the
 * CPU.
 */
export async function makeReady(
  directory: string,
  { cache = CACHE, fill = startAndMigrate }: { cache?: string; fill?(directory: string): Promise<void> } = {},
): Promise<void> {
  const archive = join(cache, `${await computeKey()}.tar`);
  if (await unpack(archive, directory)) return;
  await fill(directory);
  await store(directory, archive);
}

/** Returns a hash of what the files depend on: code, migrations, packages, the machine, and the user who owns them. */
export async function computeKey(root = ROOT): Promise<string> {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const hash = createHash('sha256');
  hash.update(JSON.stringify([process.platform, process.arch, process.getuid?.(), timeZone]));
  // npm writes here what it has installed. Other programs do not.
  const lock = join(modulesOf(root), '.package-lock.json');
  const files = new Set([existsSync(lock) ? lock : join(root, 'package.json')]);
  for (const entry of await readdir(join(root, 'drizzle'), { recursive: true, withFileTypes: true }))
    if (entry.isFile()) files.add(join(entry.parentPath, entry.name));
  addImports(join(root, relative(ROOT, import.meta.filename)), files);
  for (const file of [...files].sort()) {
    const text = await readFile(file);
    hash.update(`${relative(root, file)} ${text.length}\n`).update(text);
  }
  return hash.digest('hex').slice(0, 32);
}

/** Returns the folder in which npm has installed the packages. */
function modulesOf(root: string): string {
  const [above, below] = root.split(/\/node_modules\/(?!.*\/node_modules\/)/);
  return join(below === undefined ? root : (above ?? ''), 'node_modules');
}

/** Adds the file, and all that it loads. */
function addImports(file: string, files: Set<string>): void {
  if (files.has(file)) return;
  files.add(file);
  for (const imported of readImports(file)) addImports(imported, files);
}

async function startAndMigrate(directory: string): Promise<void> {
  // To load it takes half a second of CPU, which most runs can save.
  const { migrateDatabase } = await import('../database/migrate/migrate.ts');
  const server = await startEmbeddedPostgres(directory, { durable: false });
  try {
    await onServer(server.url, (sql) => sql.unsafe(`create database ${TEMPLATE}`));
    await migrateDatabase(withDatabase(server.url, TEMPLATE));
  } finally {
    await server.close();
  }
}

/** Returns whether the directory has all files now. If not, it is empty. */
async function unpack(archive: string, directory: string): Promise<boolean> {
  await mkdir(directory, { recursive: true });
  if (!existsSync(archive)) return false;
  // It may end too early, and another run may remove it at any time.
  await run('tar', ['-xpf', archive, '-C', directory]).catch(() => {});
  const isComplete = existsSync(join(directory, LAST));
  const needless = isComplete ? [LAST] : await readdir(directory);
  for (const name of needless) await rm(join(directory, name), { recursive: true });
  const now = new Date();
  // Tells other runs that it is in use. It may be the file of another user.
  if (isComplete) await utimes(archive, now, now).catch(() => {});
  return isComplete;
}

/** Writes the archive under another name and then renames it, so that no run finds a part of one. */
async function store(directory: string, archive: string): Promise<void> {
  const unfinished = `${archive}.${randomUUID()}`;
  try {
    await mkdir(dirname(archive), { recursive: true });
    await using file = await open(unfinished, 'wx');
    await writeFile(join(directory, LAST), '');
    await run('tar', ['-cf', unfinished, '-C', directory, 'postgres', LAST]);
    // A crash of the machine must not leave the name without the bytes.
    await file.sync();
    await rename(unfinished, archive);
    await removeUnused(dirname(archive));
  } catch (error) {
    // Without the right to write to the packages, each run fills its own directory.
    if (!isRefused(error)) throw error;
  } finally {
    for (const path of [join(directory, LAST), unfinished]) await rm(path, { force: true });
  }
}

function isRefused(error: unknown): boolean {
  return error instanceof Error && 'code' in error && ['EACCES', 'EPERM', 'EROFS'].includes(String(error.code));
}

/** Removes archives that were not used for long, and what interrupted runs have left. */
async function removeUnused(cache: string): Promise<void> {
  const found = (await readdir(cache)).map(async (name) => {
    const path = join(cache, name);
    // Another run removes, too.
    return { path, usedAt: (await stat(path).catch(() => undefined))?.mtimeMs ?? 0 };
  });
  const unused = (await Promise.all(found)).sort((a, b) => b.usedAt - a.usedAt).slice(KEPT);
  for (const { path, usedAt } of unused) if (Date.now() - usedAt > IN_USE_MS) await rm(path, { force: true });
}
