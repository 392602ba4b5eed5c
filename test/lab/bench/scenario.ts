/** Steps of sign-ins at one server, each of which needs what the one before has returned. */
import type { Client } from './load/client.ts';
import type { Cost, Meter } from './meter.ts';

/** What is known of a sign-in: at first the number of its user. */
export type Facts = Readonly<Record<string, string>>;

export interface Step {
  readonly name: string;
  /** How often it is made for each sign-in, if not once. */
  readonly times?: number;
  /** Returns what it adds to the facts. @throws Error for an unexpected response */
  run(client: Client, facts: Facts): Promise<Facts>;
}

interface ScenarioOptions {
  readonly meter: Meter;
  readonly steps: readonly Step[];
  /** How many users sign in in a round. */
  readonly count: number;
}

/** The first round does not count. It is longer, since V8 compiles. */
const WARM_UP_FACTOR = 4;
/**
 * The most sign-ins that make a step together, before they make the next one. Codes last a minute and sessions 15, so
 * they must not wait for a whole round, which takes minutes on a busy machine.
 */
const BATCH = 100;

/** Returns how many users sign in in all rounds of a scenario, each once. */
export function countUsers({ count, rounds }: { count: number; rounds: number }): number {
  return count * (WARM_UP_FACTOR + rounds);
}

export class Scenario {
  readonly steps: readonly Step[];
  readonly #meter: Meter;
  readonly #count: number;
  readonly #nextUser: () => number;

  constructor({ meter, steps, count }: ScenarioOptions, nextUser: () => number) {
    this.steps = steps;
    this.#meter = meter;
    this.#count = count;
    this.#nextUser = nextUser;
  }

  /** Returns the cost of each step. */
  async measure(round: number): Promise<readonly Cost[]> {
    const count = round === 0 ? this.#count * WARM_UP_FACTOR : this.#count;
    const totals = this.steps.map(() => ({ serverMicros: 0, postgresMicros: 0 }));
    for (let left = count; left > 0; left -= BATCH) {
      const size = Math.min(BATCH, left);
      for (const [step, cost] of (await this.#measureBatch(size)).entries()) {
        const total = totals[step];
        if (!total) continue;
        total.serverMicros += (cost.serverMicros * size) / count;
        total.postgresMicros += (cost.postgresMicros * size) / count;
      }
    }
    return totals;
  }

  async #measureBatch(size: number): Promise<Cost[]> {
    const facts = Array.from({ length: size }, (): Facts => ({ number: String(this.#nextUser()) }));
    const costs: Cost[] = [];
    for (const { times = 1, run } of this.steps) {
      const cost = await this.#meter.measure(size * times, async (client, index) => {
        const at = index % size;
        facts[at] = { ...facts[at], ...(await run(client, facts[at] ?? {})) };
      });
      costs.push(cost);
    }
    return costs;
  }
}
