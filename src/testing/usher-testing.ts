/** Usher in your tests: the real server, its clock, its e-mails and its outages. */
import { importFast } from '../import-fast.ts';
import type { StartUsherOptions, TestUsher } from './test-usher.ts';

export type * from './test-usher.ts';

/** Starts Usher in this process, on a port and a database of its own. @throws Error of one line */
export async function startUsher(options: StartUsherOptions = {}): Promise<TestUsher> {
  const { startTestUsher } = await importFast(() => import('./start-usher.ts'));
  return startTestUsher(options);
}
