/** The packages of `test/package.json`: what benchmarks, browsers, traces and OpenID Connect clients of others need. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '..');

/**
 * Installs the packages of the folder's lock file, unless they are installed: then it needs no network.
 *
 * @throws Error if npm fails
 */
export function installPackages(folder = FOLDER): void {
  const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8');
  // npm's own record changes with `npm install --package-lock-only`, which installs nothing.
  const installed = join(folder, 'node_modules/.installed-lock.json');
  if (existsSync(installed) && readFileSync(installed, 'utf8') === lock) return;
  rmSync(installed, { force: true });
  process.stdout.write('Installing the packages of test/package.json, once for each change of them\n');
  const options = ['--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync('npm', ['ci', ...options], { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0)
    throw new Error(`npm ci in ${folder} has failed. It needs the npm registry, or a cache that is full`);
  writeFileSync(installed, lock);
}

/** Vitest calls it at the start of a run. */
export default function setup(): void {
  installPackages();
}
