/**
 * Tests of endurance have two forms: a quick one in `npm test`, and a long one in `npm run test:soak`,
 * which ends with a table of what was tried and what was lost.
 */
import { inject, type TestContext } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    isSoak: boolean;
  }
  interface TaskMeta {
    findings?: Finding[];
  }
}

/** A row of the table. */
export interface Finding {
  /** How often what was done, as in `3 times kill -9 of Postgres under load, 41,200 calls`. */
  readonly tried: string;
  /** What went wrong, or `nothing`. */
  readonly lost: string;
  /** Measured values worth a look, with their units. */
  readonly figures?: string;
}

export function quickOrLong<T>(quick: T, long: T): T {
  return inject('isSoak') ? long : quick;
}

/** Puts a row into the table of the soak. Say what was lost before you assert that nothing was. */
export function report({ task }: Pick<TestContext, 'task'>, finding: Finding): void {
  task.meta.findings = [...(task.meta.findings ?? []), finding];
}
