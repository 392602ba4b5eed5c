/** The global setup for vitest: `globalSetup: 'usher-testing/vitest'`. */
import { startTestRun } from './postgres-server.ts';
import { forgetRun, publishRun } from './test-environment.ts';

/** Starts Postgres once for all files, and returns what stops it. */
export async function setup(): Promise<() => Promise<void>> {
  const run = await startTestRun();
  publishRun(run);
  return async () => {
    forgetRun();
    await run[Symbol.asyncDispose]();
  };
}
