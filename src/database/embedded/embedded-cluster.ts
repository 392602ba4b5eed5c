import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { spawnBoundToParent } from './child-process.ts';
import { giveToPostgres, type PostgresRuntime } from './postgres-runtime.ts';

/** Needs no password: only root and the user that runs Postgres can enter the directory of the socket. */
const HBA = 'local all all trust\n';

/** Directories that an interrupted start has left are removed at this age. No start takes that long. */
const LEFTOVER_MS = 10 * 60_000;

export function isCluster(cluster: string): boolean {
  return existsSync(join(cluster, 'PG_VERSION'));
}

/** Creates the cluster if there is none. @throws Error of one line */
export async function ensureCluster(cluster: string, runtime: PostgresRuntime): Promise<void> {
  if (!isCluster(cluster)) await createCluster(cluster, runtime);
}

export function logOf(cluster: string): string {
  return join(dirname(cluster), 'postgres.log');
}

/** Returns the last error in the log of the cluster, or its last line. Never rejects. */
export async function readFailure(cluster: string): Promise<string> {
  const text = await readFile(logOf(cluster), 'utf8').catch(() => 'its log cannot be read');
  const lines = text.trimEnd().split('\n');
  return lines.findLast((line) => /error|fatal|panic/i.test(line)) ?? lines.at(-1) ?? '';
}

/**
 * Returns the process that uses the cluster and the directory of its socket, as the lock file names them, or empty
 * texts.
 */
export async function readLockFile(cluster: string): Promise<{ pid: string; socketDirectory: string }> {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '');
  const [pid = '', , , , directory = ''] = text.split('\n');
  return { pid, socketDirectory: directory.startsWith('/proc/self/') ? cluster : directory };
}

/**
 * Creates the cluster under another name and then renames it, so an interrupted start leaves no incomplete cluster. If
 * another process has created the cluster meanwhile, the rename fails and that cluster is used.
 */
async function createCluster(cluster: string, runtime: PostgresRuntime): Promise<void> {
  await removeLeftovers(cluster);
  const unfinished = await mkdtemp(`${cluster}.unfinished-`);
  try {
    await giveToPostgres(unfinished);
    await runtime.prepare();
    const command = runtime.commandOf('initdb', unfinished, [
      ...['--username=usher', '--auth=trust'],
      ...['--encoding=UTF8', '--locale=C', '--no-instructions'],
    ]);
    const { temporaryDirectory } = runtime;
    const initdb = await spawnBoundToParent(command, { cwd: unfinished, log: logOf(cluster), temporaryDirectory });
    const [exitCode] = await once(initdb, 'exit');
    if (exitCode !== 0) throw new Error(await readFailure(cluster));
    await writeFile(join(unfinished, 'pg_hba.conf'), HBA);
    await rename(unfinished, cluster);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    if (isCluster(cluster)) return;
    const reason = error instanceof Error ? error.message : error;
    throw new Error(`The embedded Postgres cannot be set up in ${cluster}: ${reason}`);
  }
}

async function removeLeftovers(cluster: string): Promise<void> {
  const directory = dirname(cluster);
  for (const name of await readdir(directory)) {
    if (!name.startsWith(`${basename(cluster)}.unfinished`)) continue;
    const { mtimeMs } = await stat(join(directory, name));
    if (Date.now() - mtimeMs > LEFTOVER_MS) await rm(join(directory, name), { recursive: true, force: true });
  }
}
