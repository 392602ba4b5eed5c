import { setTimeout as sleep } from 'node:timers/promises';
import { openClient } from '../../../src/database/open-client.ts';
import { SIGNED_IN_USERS } from '../fixtures.ts';
import { readConnections, readUsage } from '../read-usage.ts';
import type { RunningServer } from '../start-server.ts';
import { Client } from './client.ts';
import type { CheckSession, Subject } from './subjects.ts';

/** CPU time per login or check. */
export interface Cost {
  readonly serverMicros: number;
  readonly postgresMicros: number;
}

const LOGINS = 300;
const CHECKS = 2_000;
/** The first round does not count. It is longer, since V8 compiles. */
const WARM_UP_FACTOR = 4;
const CONCURRENCY = 64;
/** Time for the server to finish its work after the last response. */
const SETTLE_MS = 30;

/** How many users sign in, each once. */
export function countUsers(rounds: number): number {
  return LOGINS * (WARM_UP_FACTOR + rounds);
}

/** A running server, its database, and the sessions of those who have signed in last. */
export class Participant {
  readonly #subject: Subject;
  readonly #pid: number;
  readonly #sql;
  readonly #clients: readonly Client[];
  #sessions: string[] = [];
  #nextUser = SIGNED_IN_USERS;

  constructor(stack: AsyncDisposableStack, subject: Subject, { pid, ports }: RunningServer, databaseUrl: string) {
    this.#subject = subject;
    this.#pid = pid;
    this.#sql = openClient(databaseUrl, { max: 1 });
    stack.defer(() => this.#sql.end());
    this.#clients = Array.from({ length: CONCURRENCY }, () =>
      stack.use(new Client(`http://127.0.0.1:${ports['1.1']}`)),
    );
  }

  async logIn(round: number): Promise<Cost> {
    const count = round === 0 ? LOGINS * WARM_UP_FACTOR : LOGINS;
    const first = this.#nextUser;
    this.#nextUser += count;
    const sessions: string[] = [];
    const cost = await this.#measure(count, async (client, index) => {
      sessions[index] = await this.#subject.logIn(client, first + index);
    });
    this.#sessions = sessions;
    return cost;
  }

  async check(check: CheckSession, round: number): Promise<Cost> {
    return this.#measure(round === 0 ? CHECKS * WARM_UP_FACTOR : CHECKS, (client, index) =>
      check(client, this.#sessions[index % this.#sessions.length] ?? ''),
    );
  }

  async #measure(count: number, run: (client: Client, index: number) => Promise<void>): Promise<Cost> {
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
