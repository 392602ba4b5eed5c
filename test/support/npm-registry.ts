import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { runShell } from './process.ts';

/** An installation may take minutes on a busy machine, and some downloads hang until they are tried again. */
export const INSTALL_TIMEOUT_MS = 900_000;

/** Installs packages from the registry, as the environment configures it. */
export async function installPackages(directory: string, packages: readonly string[]): Promise<void> {
  const patience = ['--prefer-offline', '--fetch-timeout', '30000', '--fetch-retries', '6'];
  const parameters = ['install', '--prefix', directory, '--no-audit', '--no-fund', ...patience, ...packages];
  await promisify(execFile)('npm', parameters, { timeout: INSTALL_TIMEOUT_MS });
}

/** Runs a line as `runShell` does, and returns its output. @throws Error if it fails */
export async function runOrThrow(line: string): Promise<string> {
  const { exitCode, stdout, stderr } = await runShell(line);
  if (exitCode !== 0) throw new Error(`${line}: ${stdout}${stderr}`);
  return stdout;
}
