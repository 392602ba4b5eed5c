/** What this package reads and sets in the environment of a test run. */
import type { TestRun } from './postgres-server.ts';

const RUN = 'USHER_TESTING_RUN';

/** @throws Error in production */
export function refuseProduction(): void {
  if (process.env.NODE_ENV === 'production')
    throw new Error('usher-testing is for tests: it does not start with NODE_ENV=production');
}

/** Tells the workers of a run about its Postgres. */
export function publishRun({ postgresUrl, template, oidcSigningKeys }: TestRun): void {
  process.env[RUN] = JSON.stringify({ postgresUrl, template, oidcSigningKeys });
}

/** Returns the run whose worker this is. */
export function findRun(): TestRun | undefined {
  const run = process.env[RUN];
  return run ? JSON.parse(run) : undefined;
}

export function forgetRun(): void {
  delete process.env[RUN];
}
