/** Usher in your tests: the real server, its clock, its e-mails and its outages. */
import { importFast } from '../import-fast.ts';
import type { StartUsherOptions, TestUsher } from './test-usher.ts';

export type * from './test-usher.ts';

// With the test file, not with its first test, which has a limit of time: it takes a second.
const { startTestUsher } = await importFast(() => import('./start-usher.ts'));

/** Starts Usher in this process, on a port and a database of its own. @throws Error of one line */
export async function startUsher(options: StartUsherOptions = {}): Promise<TestUsher> {
  return startTestUsher(options, options.log === 'failures' ? await findRunner() : undefined);
}

/** A variable, because applications may have another runner. */
const RUNNER: string = 'vitest';

/** Returns undefined outside of a test of vitest: nobody says there that it has failed. */
async function findRunner(): Promise<((report: () => void) => void) | undefined> {
  try {
    const { onTestFailed } = await import(RUNNER);
    onTestFailed(() => {});
    return onTestFailed;
  } catch {
    return undefined;
  }
}
