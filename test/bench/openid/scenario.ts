import type { Cost, Meter } from '../meter.ts';
import type { Facts, Step } from './steps.ts';

/** The first round does not count. It is longer, since V8 compiles. */
export const WARM_UP_FACTOR = 4;

interface ScenarioOptions {
  readonly meter: Meter;
  /** They follow each other. Each is made for every sign-in before the next one is. */
  readonly steps: readonly Step[];
  readonly count: number;
  /** Returns what is known of so many sign-ins. */
  readonly begin: (count: number) => readonly Facts[];
}

/** Steps at one server. */
export class Scenario {
  readonly steps: readonly Step[];
  readonly #options: ScenarioOptions;
  #facts: readonly Facts[] = [];

  constructor(options: ScenarioOptions) {
    this.steps = options.steps;
    this.#options = options;
  }

  /** Returns what is known of the sign-ins of the last round, in turn. */
  readonly repeat = (count: number): readonly Facts[] =>
    Array.from({ length: count }, (_, index) => this.#facts[index % this.#facts.length] ?? {});

  /** Returns the cost of each step. */
  async measure(round: number): Promise<readonly Cost[]> {
    const { meter, begin } = this.#options;
    const count = round === 0 ? this.#options.count * WARM_UP_FACTOR : this.#options.count;
    const facts = [...begin(count)];
    const costs: Cost[] = [];
    for (const step of this.steps) {
      const cost = await meter.measure(count, async (client, index) => {
        facts[index] = await step.run(client, facts[index] ?? {});
      });
      costs.push(cost);
    }
    this.#facts = facts;
    return costs;
  }
}
