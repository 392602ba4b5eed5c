import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Copies the checkout to a temporary directory, so that a run that is interrupted leaves no change behind. The packages
 * are those of the checkout. Returns the directory.
 */
export async function copyCheckout(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'usher-copy-'));
  const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard']);
  const files = stdout.split('\0').filter((name) => name !== '');
  for (const file of files) await cp(file, join(directory, file)).catch(ignoreDeleted);
  for (const packages of ['node_modules', 'test/node_modules'].filter((path) => existsSync(path)))
    await symlink(resolve(packages), join(directory, packages));
  return directory;
}

function ignoreDeleted(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
