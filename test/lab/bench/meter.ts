import { setTimeout as sleep } from 'node:timers/promises';
import { openClient } from '../../../src/database/connection/open-client.ts';
import { Client } from './load/client.ts';
import { readConnections, readUsage } from './read-usage.ts';
import type { RunningServer } from './start-server.ts';

/** CPU time per piece of work. */
export interface Cost {
  readonly serverMicros: number;
  readonly postgresMicros: number;
}

/** Time for the server to finish its work after the last response. */
const SETTLE_MS = 30;

/** Measures a running server and its database while clients work with it. */
export class Meter {
  readonly databaseUrl: string;
  readonly #pid: number;
  readonly #sql;
  readonly #clients: readonly Client[];

  constructor(
    stack: AsyncDisposableStack,
    { pid, ports }: RunningServer,
    { databaseUrl, concurrency }: { databaseUrl: string; concurrency: number },
  ) {
    this.databaseUrl = databaseUrl;
    this.#pid = pid;
    this.#sql = openClient(databaseUrl, { max: 1 });
    stack.defer(() => this.#sql.end());
    this.#clients = Array.from({ length: concurrency }, () =>
      stack.use(new Client(`http://127.0.0.1:${ports['1.1']}`)),
    );
  }

  /** Runs the work `count` times, with the index of each. */
  async measure(count: number, run: (client: Client, index: number) => Promise<void>): Promise<Cost> {
    const connections = await readConnections(this.#sql);
    const before = readUsage(this.#pid).cpuMicros;
    let next = 0;
    const work = async (client: Client) => {
      while (next < count) await run(client, next++);
    };
    await Promise.all(this.#clients.map(work));
    await sleep(SETTLE_MS);
    const after = readUsage(this.#pid).cpuMicros;
    let postgresMicros = 0;
    // One that has opened meanwhile counts from its start, and one that has closed does not count.
    for (const [pid, micros] of await readConnections(this.#sql))
      postgresMicros += micros - (connections.get(pid) ?? 0);
    return { serverMicros: (after - before) / count, postgresMicros: postgresMicros / count };
  }
}
