/** The packages of `test/package.json`: what benchmarks, browsers, traces and OpenID Connect clients of others need. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const FOLDER = join(import.meta.dirname, '..');
const LOCK = '.install.lock';
/** For how long another process may install. */
const TIMEOUT_MS = 900_000;

/**
 * Installs the packages of the folder's lock file, unless they are installed: then it needs no network.
 *
 * @throws Error if npm fails
 */
export function installPackages(folder = FOLDER): void {
  const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8');
  // npm's own record changes with `npm install --package-lock-only`, which installs nothing.
  const installed = join(folder, 'node_modules/.installed-lock.json');
  const isInstalled = () => existsSync(installed) && readFileSync(installed, 'utf8') === lock;
  if (isInstalled()) return;
  // Two first installations would remove each other's files. The lock goes with its process.
  using database = new DatabaseSync(join(folder, LOCK), { timeout: TIMEOUT_MS });
  database.exec('begin exclusive');
  if (isInstalled()) return;
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
