/** Three servers of Postgres under Patroni with the settings of test/examples/patroni, and the etcd that they need. */
import type { ChildProcess } from 'node:child_process';
import { chmod, copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createUnprivilegedDirectory, spawnUnprivileged } from './debian-postgres.ts';
import { endProcess } from './end-process.ts';
import { findFreePort } from './free-port.ts';
import { lacks, POSTGRES_BIN } from './tools.ts';

const CONFIG = fileURLToPath(new URL('../examples/patroni/patroni.yaml', import.meta.url));
const PASSWORD = 'a-password-for-tests';
const START_TIMEOUT_MS = 240_000;

export const SKIPS_PATRONI = lacks('PATRONI');

interface Server {
  readonly name: string;
  readonly address: string;
  readonly restUrl: string;
  readonly data: string;
  readonly patroni: ChildProcess;
}

export class PatroniCluster implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack();
  readonly #servers: Server[] = [];

  static async start(): Promise<PatroniCluster> {
    const cluster = new PatroniCluster();
    try {
      await cluster.#startAll();
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
    return cluster;
  }

  /** Returns the URL with all servers. */
  urlOf(database: string): string {
    return `postgres://postgres:${PASSWORD}@${this.#servers.map(({ address }) => address).join()}/${database}`;
  }

  /** Returns the URL of the leader alone. */
  async leaderUrlOf(database: string): Promise<string> {
    return `postgres://postgres:${PASSWORD}@${(await this.#leader()).address}/${database}`;
  }

  /** Resolves when one standby is synchronous, and the others follow. Until then Patroni makes none of them the leader. */
  async waitForStandbys(): Promise<void> {
    const deadline = performance.now() + START_TIMEOUT_MS;
    const countAll = async () => {
      const found = await Promise.all([this.#findAll('/leader'), this.#findAll('/synchronous')]);
      return found.every(({ length }) => length === 1) ? 2 + (await this.#findAll('/asynchronous')).length : 0;
    };
    while ((await countAll()) < this.#servers.length) {
      if (performance.now() > deadline) throw new Error('Patroni has no synchronous standby');
      await sleep(200);
    }
  }

  /** Makes the standby the leader, as `patronictl switchover` does. */
  async switchOver(): Promise<void> {
    const leader = await this.#leader();
    const body = JSON.stringify({ leader: leader.name });
    const reply = await fetch(`${leader.restUrl}/switchover`, { method: 'POST', body });
    if (!reply.ok) throw new Error(`Patroni refuses the switchover: ${await reply.text()}`);
  }

  /** Sends kill -9 to the leader's Patroni and Postgres, as if its machine had lost its power. */
  async killLeader(): Promise<void> {
    process.kill(await this.#killPatroni(), 'SIGKILL');
  }

  /** Sends kill -9 to the leader's Patroni. Its Postgres goes on as if it still were the primary. */
  async killLeadersPatroni(): Promise<void> {
    const postmaster = await this.#killPatroni();
    this.#stack.defer(() => void process.kill(postmaster, 'SIGQUIT'));
  }

  async #killPatroni(): Promise<number> {
    const leader = await this.#leader();
    const [postmaster] = (await readFile(join(leader.data, 'postmaster.pid'), 'utf8')).split('\n');
    leader.patroni.kill('SIGKILL');
    return Number(postmaster);
  }

  /** Resolves when a server is the leader. */
  async waitForLeader(): Promise<void> {
    const deadline = performance.now() + START_TIMEOUT_MS;
    while ((await this.#findAll('/leader')).length === 0) {
      if (performance.now() > deadline) throw new Error('Patroni has no leader');
      await sleep(200);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }

  async #startAll(): Promise<void> {
    const directory = await createUnprivilegedDirectory();
    // A copy, because only the owner may be able to read the example.
    const config = join(directory, 'patroni.yaml');
    await copyFile(CONFIG, config);
    await chmod(config, 0o644);
    const [etcd, peer] = [`http://127.0.0.1:${await findFreePort()}`, `http://127.0.0.1:${await findFreePort()}`];
    this.#spawn('/usr/bin/etcd', [
      ...['--data-dir', join(directory, 'etcd'), '--initial-cluster', `default=${peer}`],
      ...['--listen-client-urls', etcd, '--advertise-client-urls', etcd],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
    ]);
    // When one is gone, another can still follow the new leader.
    for (const name of ['one', 'two', 'three']) {
      const address = `127.0.0.1:${await findFreePort()}`;
      const restUrl = `http://127.0.0.1:${await findFreePort()}`;
      const data = join(directory, name, 'data');
      const patroni = this.#spawn('/usr/bin/patroni', [config], {
        PATRONI_NAME: name,
        PATRONI_ETCD3_HOST: new URL(etcd).host,
        PATRONI_RESTAPI_LISTEN: new URL(restUrl).host,
        PATRONI_RESTAPI_CONNECT_ADDRESS: new URL(restUrl).host,
        PATRONI_POSTGRESQL_LISTEN: address,
        PATRONI_POSTGRESQL_CONNECT_ADDRESS: address,
        PATRONI_POSTGRESQL_DATA_DIR: data,
        PATRONI_POSTGRESQL_PGPASS: join(directory, `${name}.pgpass`),
        PATRONI_POSTGRESQL_BIN_DIR: POSTGRES_BIN,
        PATRONI_SUPERUSER_USERNAME: 'postgres',
        PATRONI_SUPERUSER_PASSWORD: PASSWORD,
        PATRONI_REPLICATION_USERNAME: 'replicator',
        PATRONI_REPLICATION_PASSWORD: PASSWORD,
      });
      this.#servers.push({ name, address, restUrl, data, patroni });
    }
    await this.waitForStandbys();
  }

  #spawn(command: string, parameters: string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
    const child = spawnUnprivileged(command, parameters, { ...process.env, ...env });
    // Patroni ends its Postgres before it exits.
    this.#stack.defer(() => endProcess(child, 'SIGTERM'));
    return child;
  }

  async #leader(): Promise<Server> {
    const [leader] = await this.#findAll('/leader');
    if (!leader) throw new Error('There is no leader');
    return leader;
  }

  /** Returns the servers that have the role. */
  async #findAll(path: '/leader' | '/synchronous' | '/asynchronous'): Promise<Server[]> {
    const found = this.#servers.map(async (server) => {
      const { ok } = await fetch(`${server.restUrl}${path}`).catch(() => ({ ok: false }));
      return ok ? [server] : [];
    });
    return (await Promise.all(found)).flat();
  }
}
