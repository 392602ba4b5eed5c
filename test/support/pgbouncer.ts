import type { ChildProcess } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { onServer } from '../../src/testing/on-server.ts';
import { createUnprivilegedDirectory, spawnUnprivileged } from './debian-postgres.ts';
import { endProcess } from './end-process.ts';
import { findFreePort } from './free-port.ts';
import { lacks, PGBOUNCER_PATH } from './tools.ts';

/** Whose settings are used where a test gives no others. */
const EXAMPLE = fileURLToPath(new URL('../examples/pgbouncer/pgbouncer.ini', import.meta.url));

export const SKIPS_PGBOUNCER = lacks('PGBOUNCER');

/** A pgbouncer in front of one server. */
export class Pgbouncer implements AsyncDisposable {
  readonly port: number;
  readonly #directory: string;
  #process: ChildProcess | undefined;

  private constructor(directory: string, port: number) {
    this.#directory = directory;
    this.port = port;
  }

  static async start(
    server: { readonly port: number },
    settings: Readonly<Record<string, string | number>>,
  ): Promise<Pgbouncer> {
    const pooler = new Pgbouncer(await createUnprivilegedDirectory(), await findFreePort());
    const own = {
      ...{ listen_addr: '127.0.0.1', listen_port: pooler.port, unix_socket_dir: '' },
      ...{ auth_type: 'any', auth_file: '', admin_users: 'usher', logfile: join(pooler.#directory, 'log') },
    };
    const lines = Object.entries({ ...own, ...settings }).map(([name, value]) => `${name} = ${value}`);
    const databases = `usher = host=127.0.0.1 port=${server.port} user=usher`;
    // A copy, because only the owner may be able to read the example. Of a setting that is there twice the last counts.
    const text = `${await readFile(EXAMPLE, 'utf8')}\n[databases]\n${databases}\n[pgbouncer]\n${lines.join('\n')}\n`;
    await writeFile(pooler.#file, text);
    await chmod(pooler.#file, 0o644);
    await pooler.up();
    return pooler;
  }

  urlOf(database: string): string {
    return `postgres://usher@127.0.0.1:${this.port}/${database}`;
  }

  async up(): Promise<void> {
    this.#process = spawnUnprivileged(PGBOUNCER_PATH, [this.#file]);
    const deadline = performance.now() + 10_000;
    while (!(await this.admin('show version').then(Boolean, () => false))) {
      if (performance.now() > deadline) throw new Error('pgbouncer does not start');
      await sleep(50);
    }
  }

  async kill(): Promise<void> {
    if (this.#process) await endProcess(this.#process);
  }

  /** Runs a command of the console, such as `pause` or `reload`. */
  admin(command: string): Promise<readonly Record<string, unknown>[]> {
    const options = { fetch_types: false, prepare: false };
    return onServer(this.urlOf('pgbouncer'), (sql) => sql.unsafe(command), options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  get #file(): string {
    return join(this.#directory, 'pgbouncer.ini');
  }
}
