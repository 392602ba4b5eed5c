/**
 * Robustness tests have two forms: a short one, and a long one for `npm run test:lab -- soak`, which ends with a table of
 * what the tests have measured.
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
  /** What was done, and how often, as in `3 times kill -9 of Postgres under load, 41,200 calls`. */
  readonly tried: string;
  /** What went wrong, counted by the test. */
  readonly lost?: string;
  /** Measured values, with their units. */
  readonly figures?: string;
}

/** Returns the first value in the short form of a test, the second in the long one. */
export function quickOrLong<T>(quick: T, long: T): T {
  return inject('isSoak') ? long : quick;
}

/** Adds a row to the table. Call it before the assertions, so that a failure has its row, too. */
export function report({ task }: Pick<TestContext, 'task'>, finding: Finding): void {
  task.meta.findings = [...(task.meta.findings ?? []), finding];
}
