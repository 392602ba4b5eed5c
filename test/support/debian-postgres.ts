/** Servers of the Postgres that Debian installs, with standbys, for tests of failovers and poolers. */
import { type ChildProcess, spawn } from 'node:child_process';
import { appendFile, chmod, chown, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type postgres from 'postgres';
import { DEFAULT_SCHEMA } from '../../src/config/database-url.ts';
import { onServer } from '../../src/testing/on-server.ts';
import { createDirectory } from './directory.ts';
import { findFreePort } from './free-port.ts';
import { descendantsOf } from './process.ts';
import { lacks, POSTGRES_BIN } from './tools.ts';

/** The directory of the programs. */
const IS_ROOT = process.getuid?.() === 0;
const NOBODY = 65_534;

export const SKIPS_DEBIAN_POSTGRES = lacks('DEBIAN_POSTGRES');

/** A server on a TCP port of 127.0.0.1. */
export class DebianPostgres implements AsyncDisposable {
  readonly port: number;
  readonly #directory: string;

  private constructor(directory: string, port: number) {
    this.#directory = directory;
    this.port = port;
  }

  /** Starts an empty primary with the settings. */
  static async start(settings: Readonly<Record<string, string>> = {}): Promise<DebianPostgres> {
    const server = await DebianPostgres.#create();
    await runAsPostgres('initdb', ['-D', server.#data, '-U', 'usher', '--auth=trust', '-E', 'UTF8', '--locale=C']);
    await server.#configure({ fsync: 'off', max_connections: '100', ...settings });
    await server.up();
    return server;
  }

  /** Starts a streaming standby, which becomes the synchronous one of a primary that waits for its name. */
  async startStandby(name: string): Promise<DebianPostgres> {
    const standby = await DebianPostgres.#create();
    await standby.rejoin(this, name);
    return standby;
  }

  /** Makes a server that is down follow the primary, with the data of the primary. */
  async rejoin(primary: DebianPostgres, name: string): Promise<void> {
    await rm(this.#data, { recursive: true, force: true });
    const source = `host=127.0.0.1 port=${primary.port} user=usher application_name=${name}`;
    await runAsPostgres('pg_basebackup', ['-D', this.#data, '-d', source, '-R', '-X', 'stream', '-c', 'fast']);
    await this.#configure({});
    await this.up();
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  urlOf(database: string): string {
    return `postgres://usher@${this.address}/${database}`;
  }

  /** Runs statements on a connection of its own. */
  sql<Result>(database: string, use: (sql: postgres.Sql) => Promise<Result>): Promise<Result> {
    return onServer(this.urlOf(database), use, { fetch_types: false, connection: { search_path: DEFAULT_SCHEMA } });
  }

  async up(): Promise<void> {
    await this.#control('start', '-w', '-l', join(this.#directory, 'log'));
  }

  /** `immediate` is what kill -9 does. */
  async down(mode: 'fast' | 'immediate'): Promise<void> {
    await this.#control('stop', '-w', '-m', mode);
  }

  /** Sends a signal to the server and all its backends, as where the whole machine stands still. */
  async signal(signal: NodeJS.Signals): Promise<void> {
    const [pid] = (await readFile(join(this.#data, 'postmaster.pid'), 'utf8')).split('\n');
    process.kill(Number(pid), signal);
    for (const backend of (await descendantsOf(Number(pid))).keys()) {
      try {
        process.kill(backend, signal);
      } catch {
        // It has ended meanwhile.
      }
    }
  }

  async promote(): Promise<void> {
    await this.#control('promote', '-w');
  }

  /** Stops every process of the server, as when its machine hangs: connections stay open, and nothing answers. */
  async pause(): Promise<void> {
    await this.#signal('SIGSTOP');
  }

  async resume(): Promise<void> {
    await this.#signal('SIGCONT');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.resume().catch(() => {});
    await this.down('immediate').catch(() => {});
  }

  get #data(): string {
    return join(this.#directory, 'data');
  }

  static async #create(): Promise<DebianPostgres> {
    return new DebianPostgres(await createUnprivilegedDirectory(), await findFreePort());
  }

  async #configure(settings: Readonly<Record<string, string>>): Promise<void> {
    const own = { listen_addresses: '127.0.0.1', unix_socket_directories: '', port: String(this.port) };
    const lines = Object.entries({ ...own, ...settings }).map(([name, value]) => `${name} = '${value}'\n`);
    await appendFile(join(this.#data, 'postgresql.conf'), lines.join(''));
  }

  async #signal(signal: NodeJS.Signals): Promise<void> {
    const [line] = (await readFile(join(this.#data, 'postmaster.pid'), 'utf8')).split('\n');
    const pid = Number(line);
    process.kill(pid, signal);
    for (const child of (await descendantsOf(pid)).keys()) {
      try {
        process.kill(child, signal);
      } catch {
        // It has ended meanwhile.
      }
    }
  }

  async #control(command: string, ...parameters: string[]): Promise<void> {
    await runAsPostgres('pg_ctl', [command, '-D', this.#data, ...parameters]);
  }
}

/** Starts a command as a user who is not root. */
export function spawnUnprivileged(command: string, parameters: string[], env = process.env): ChildProcess {
  const [file = '', ...others] = asUnprivileged([command, ...parameters]);
  // The repository may be where only its owner can read.
  return spawn(file, others, { stdio: 'ignore', env, cwd: tmpdir() });
}

/** Creates a directory for that user. */
export async function createUnprivilegedDirectory(): Promise<string> {
  const directory = await createDirectory();
  if (IS_ROOT) await chown(directory, NOBODY, NOBODY);
  await chmod(directory, 0o700);
  return directory;
}

/** Runs one of the programs of Postgres as a user who is not root. */
export async function runAsPostgres(command: string, parameters: string[]): Promise<void> {
  const [file = '', ...others] = asUnprivileged([join(POSTGRES_BIN, command), ...parameters]);
  // A server that pg_ctl starts would keep pipes open.
  const child = spawn(file, others, { stdio: 'ignore' });
  const exitCode = await new Promise((resolve) => child.on('exit', resolve).on('error', resolve));
  if (exitCode !== 0) throw new Error(`${command} ${parameters.join(' ')} failed: ${exitCode}`);
}

function asUnprivileged(command: string[]): string[] {
  if (!IS_ROOT) return command;
  return ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--', ...command];
}
