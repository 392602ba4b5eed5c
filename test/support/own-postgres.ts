import { readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts';
import { onServer, withDatabase } from '../../src/testing/on-server.ts';
import { makeReady, TEMPLATE } from '../../src/testing/ready-directory.ts';
import { createDirectory } from './directory.ts';

const TIMEOUT_MS = 60_000;

/** A Postgres that only one test uses, with a migrated, empty database: it can be killed and brought back at the same URL with the same data. */
export class OwnPostgres implements AsyncDisposable {
  readonly url: string;
  readonly #directory: string;
  readonly #server: EmbeddedPostgres;

  private constructor(directory: string, server: EmbeddedPostgres) {
    this.url = withDatabase(server.url, TEMPLATE);
    this.#directory = directory;
    this.#server = server;
  }

  static async start(): Promise<OwnPostgres> {
    const directory = await createDirectory();
    await makeReady(directory);
    return new OwnPostgres(directory, await startEmbeddedPostgres(directory));
  }

  /** Sends kill -9. Until `bringBack` every restart fails because a file is missing. */
  async kill(): Promise<void> {
    const [pid] = (await readFile(join(this.#directory, 'postgres/postmaster.pid'), 'utf8')).split('\n');
    await rename(this.#control, `${this.#control}.away`);
    process.kill(Number(pid), 'SIGKILL');
  }

  /** Resolves when the server accepts connections again. */
  async bringBack(): Promise<void> {
    await rename(`${this.#control}.away`, this.#control);
    const deadline = performance.now() + TIMEOUT_MS;
    for (;;) {
      const options = { fetch_types: false, connect_timeout: 2 };
      const failure = await onServer(this.url, (sql) => sql`select 1`, options).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (!failure) return;
      if (performance.now() > deadline) throw new Error('Postgres has not come back', { cause: failure });
      await sleep(10);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.close();
  }

  get #control(): string {
    return join(this.#directory, 'postgres/global/pg_control');
  }
}
