import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openClient } from '../connection/open-client.ts';
import { isRunning, spawnBoundToParent, stop } from './child-process.ts';
import { ensureCluster, isCluster, logOf, readFailure, readLockFile } from './embedded-cluster.ts';
import { asPostgresSees, PORT, PostgresRuntime } from './postgres-runtime.ts';

export interface EmbeddedPostgres {
  readonly url: string;
  /** Shuts the server down and waits until it has ended. Postgres cancels the statements in flight. */
  close(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  /** `false` trades crash safety for speed, for tests. */
  readonly durable?: boolean;
  /** Called when the server has crashed, and when a restart has failed. */
  onFailure?(error: Error): void;
  /** Called when the directory of the cluster is gone. The server is not restarted. */
  onLoss?(error: Error): void;
}

/** How long a start may take, including crash recovery and the shutdown of a previous process's server. */
const START_TIMEOUT_MS = 30_000;

/**
 * How long the server of a previous process may still answer: it may not have noticed yet that its parent has ended.
 */
const PREDECESSOR_TIMEOUT_MS = 500;

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 1_000;

/** What an operator does about files that Postgres cannot use. */
const CURE = '(its log is postgres.log beside it; restore the directory, or set DATA_DIR to another one)';

/** How often Usher checks that the directory of the cluster still exists. */
const WATCH_INTERVAL_MS = 1_000;

/**
 * Starts Postgres on a Unix socket, and restarts it after a crash. Its files are in `directory`; the first start
 * creates them. The server ends with this process.
 *
 * @throws Error of one line.
 */
export async function startEmbeddedPostgres(
  directory: string,
  { durable = true, onFailure, onLoss }: EmbeddedPostgresOptions = {},
): Promise<EmbeddedPostgres> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const cluster = resolve(directory, 'postgres');
  const runtime = await PostgresRuntime.find(cluster);
  await ensureCluster(cluster, runtime);
  const closing = new AbortController();
  const { signal } = closing;
  const start = () => startServer({ cluster, runtime, durable, signal });
  let server = await start();

  const supervise = async () => {
    for (;;) {
      if (isRunning(server)) await once(server, 'exit');
      if (signal.aborted) return;
      if (!isCluster(cluster)) return onLoss?.(new Error(`The embedded Postgres has lost its directory ${cluster}`));
      onFailure?.(new Error(`The embedded Postgres has ended: ${await readFailure(cluster)}`));
      server = await start().catch((error) => {
        if (!signal.aborted) onFailure?.(error);
        return server;
      });
      if (signal.aborted) return stop(server);
    }
  };
  const watch = setInterval(() => {
    if (!isCluster(cluster)) stop(server);
  }, WATCH_INTERVAL_MS).unref();
  const ended = supervise().finally(() => clearInterval(watch));

  return {
    url: urlOf(runtime.socketDirectory),
    async close() {
      closing.abort();
      await stop(server);
      await ended;
    },
  };
}

/** Returns the URL of the server that a process runs on the files in the directory, if one answers. */
export async function findRunningPostgres(directory: string): Promise<string | undefined> {
  const { pid, socketDirectory } = await readLockFile(resolve(directory, 'postgres'));
  const url = urlOf(socketDirectory);
  return pid !== '' && (await readStartId(url)) !== undefined ? url : undefined;
}

interface ServerOptions {
  readonly cluster: string;
  readonly runtime: PostgresRuntime;
  readonly durable: boolean;
  readonly signal: AbortSignal;
}

/** Tries to start the server until it answers: the server of a previous process may still be shutting down. */
async function startServer({ cluster, runtime, durable, signal }: ServerOptions): Promise<ChildProcess> {
  const { socketDirectory, temporaryDirectory } = runtime;
  const startBy = performance.now() + START_TIMEOUT_MS;
  let pauseMs = FIRST_PAUSE_MS;
  let othersSince: number | undefined;
  while (performance.now() < startBy && isCluster(cluster) && !signal.aborted) {
    await runtime.prepare();
    // Distinguishes this server from another one that still answers on the same socket.
    const startId = randomUUID();
    const settings = toArguments({ cluster, socketDirectory, startId, durable });
    const command = runtime.commandOf('postgres', cluster, settings);
    const server = await spawnBoundToParent(command, { cwd: cluster, log: logOf(cluster), temporaryDirectory });
    if (await waitForAnswer(server, { url: urlOf(socketDirectory), startId, startBy })) return server;
    await stop(server);

    const other = await readLockFile(cluster);
    const isUsed = other.pid !== '' && (await readStartId(urlOf(other.socketDirectory))) !== undefined;
    othersSince = isUsed ? (othersSince ?? performance.now()) : undefined;
    if (othersSince !== undefined && performance.now() - othersSince > PREDECESSOR_TIMEOUT_MS)
      throw new Error(`${cluster} is in use by another Usher, whose Postgres is process ${other.pid}`);
    await sleep(pauseMs);
    if (!isUsed) pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
  }
  throw new Error(`The embedded Postgres in ${cluster} does not start: ${await readFailure(cluster)} ${CURE}`);
}

function urlOf(socketDirectory: string): string {
  return `postgres://usher@${encodeURIComponent(socketDirectory)}:${PORT}/postgres`;
}

function toArguments({
  cluster,
  socketDirectory,
  startId,
  durable,
}: Pick<ServerOptions, 'cluster' | 'durable'> & { socketDirectory: string; startId: string }): string[] {
  const socket = socketDirectory === cluster ? asPostgresSees(cluster) : socketDirectory;
  const settings = {
    listen_addresses: '',
    port: PORT,
    // The directory is quoted, because the setting is a list separated by commas.
    unix_socket_directories: `"${socket.replaceAll('"', '""')}"`,
    max_connections: 400,
    jit: 'off',
    log_checkpoints: 'off',
    'usher.start_id': startId,
    // No code reads it: it shows people who list the processes which server this is.
    'usher.cluster': cluster,
    ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** Returns whether the server answers by `startBy`, in milliseconds of `performance.now()`. */
async function waitForAnswer(
  server: ChildProcess,
  { url, startId, startBy }: { url: string; startId: string; startBy: number },
): Promise<boolean> {
  while (isRunning(server) && performance.now() < startBy) {
    if ((await readStartId(url)) === startId) return true;
    await sleep(20);
  }
  return false;
}

/** Returns the start ID of the server at the URL, or undefined if it accepts no connections. */
async function readStartId(url: string): Promise<string | undefined> {
  const client = openClient(url, { max: 1, fetch_types: false, connect_timeout: 5 });
  try {
    const [row] = await client`select current_setting('usher.start_id', true) as id`;
    return String(row?.id);
  } catch {
    return undefined;
  } finally {
    await client.end({ timeout: 1 });
  }
}
