import type { Database } from '../database/pool/database.ts';
import { type Backlog, readBacklog } from '../delivery/backlog.ts';
import { share } from './share.ts';

const VALID_MS = 15_000;
const TIMEOUT_MS = 1_000;

/** Resolves to the backlog of deliveries, or to undefined if Postgres does not answer. */
export type ReadBacklog = () => Promise<Backlog | undefined>;

/** Returns a function that reads the backlog at most once in 15 seconds. */
export function createBacklogReader(database: Pick<Database, 'within'>): ReadBacklog {
  return share(() => readBacklog(database.within(performance.now() + TIMEOUT_MS)).catch(() => undefined), VALID_MS);
}
