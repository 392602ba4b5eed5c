import { SIGNED_IN_USERS } from '../fixtures.ts';
import { type Cost, Meter } from '../meter.ts';
import type { RunningServer } from '../start-server.ts';
import type { CheckSession, Subject } from './subjects.ts';

const LOGINS = 300;
const CHECKS = 2_000;
/** The first round does not count. It is longer, since V8 compiles. */
const WARM_UP_FACTOR = 4;
const CONCURRENCY = 64;

/** How many users sign in, each once. */
export function countUsers(rounds: number): number {
  return LOGINS * (WARM_UP_FACTOR + rounds);
}

/** A running server, its database, and the sessions of those who have signed in last. */
export class Participant {
  readonly #subject: Subject;
  readonly #meter: Meter;
  #sessions: string[] = [];
  #nextUser = SIGNED_IN_USERS;

  constructor(stack: AsyncDisposableStack, subject: Subject, server: RunningServer, databaseUrl: string) {
    this.#subject = subject;
    this.#meter = new Meter(stack, server, { databaseUrl, concurrency: CONCURRENCY });
  }

  async logIn(round: number): Promise<Cost> {
    const count = round === 0 ? LOGINS * WARM_UP_FACTOR : LOGINS;
    const first = this.#nextUser;
    this.#nextUser += count;
    const sessions: string[] = [];
    const cost = await this.#meter.measure(count, async (client, index) => {
      sessions[index] = await this.#subject.logIn(client, first + index);
    });
    this.#sessions = sessions;
    return cost;
  }

  async check(check: CheckSession, round: number): Promise<Cost> {
    return this.#meter.measure(round === 0 ? CHECKS * WARM_UP_FACTOR : CHECKS, (client, index) =>
      check(client, this.#sessions[index % this.#sessions.length] ?? ''),
    );
  }
}
