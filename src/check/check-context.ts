import type { resolveTxt } from 'node:dns/promises';
import type { Environment } from '../config/config.ts';
import type { Inspection } from '../database/migrate/inspect-database.ts';
import type { CheckContext } from '../modules/check.ts';
import type { FullConfig } from '../modules/modules.ts';
import type { ReachedUsher } from './reach-usher.ts';

/** What the checks of the core know. */
export interface FullContext extends CheckContext<FullConfig> {
  /** Or why it cannot be read. Undefined if the embedded Postgres does not run. */
  readonly database: Inspection | Error | undefined;
  readonly env: Environment;
  readonly resolveTxt: typeof resolveTxt;
  /** The clock of this machine. */
  readonly systemClock: () => number;
  readonly usher: ReachedUsher;
}
