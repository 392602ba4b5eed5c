/** What `node src/start.js check` runs: a table of checks, of the core and of the modules. */
import type { JWK } from 'jose';
import type { Config } from '../config/config.ts';
import type { Secrets } from '../config/secrets.ts';
import type { PostgresClient } from '../database/sql/driver.ts';

export interface Finding {
  readonly level: 'ok' | 'warning' | 'failure';
  /** What was checked. */
  readonly check: string;
  readonly what: string;
  /** What follows from it, or what to do. */
  readonly why?: string | undefined;
  /** The settings that decide it. */
  readonly settings: readonly string[];
}

/** A finding that leaves out what its check says. */
export type CheckFinding = Pick<Finding, 'level' | 'what' | 'why'> & Partial<Pick<Finding, 'check' | 'settings'>>;

export interface CheckContext<ItsConfig = Config> {
  readonly config: ItsConfig;
  readonly publicUrl: string;
  /** Those that exist. */
  readonly secrets: Partial<Secrets>;
  /** Runs statements that can change nothing. Undefined if there is no database to read. */
  readonly read: (<T>(work: (client: PostgresClient) => Promise<T>) => Promise<T>) | undefined;
  /** Reads a JWK Set that the running Usher publishes. Undefined if none runs. */
  readonly readKeySet: (path: string) => Promise<readonly JWK[] | undefined>;
}

export interface Check<Context> {
  readonly check: string;
  readonly settings: readonly string[];
  /** Finds nothing if there is nothing to check. A rejection is a failure. */
  run(context: Context): Promise<readonly CheckFinding[]>;
}

export function pass(what: string): CheckFinding {
  return { level: 'ok', what };
}

export function warn(what: string, why: string): CheckFinding {
  return { level: 'warning', what, why };
}

export function fail(what: string, why: string): CheckFinding {
  return { level: 'failure', what, why };
}

/** Compares the keys of a file with those that the running Usher publishes. */
export async function comparePublished(
  { readKeySet }: Pick<CheckContext, 'readKeySet'>,
  path: string,
  own: readonly JWK[] = [],
): Promise<readonly CheckFinding[]> {
  if (own.length === 0) return [];
  const published = await readKeySet(path);
  if (!published) return [];
  const [here, there] = [own, published].map((keys) =>
    keys
      .map(({ kid }) => kid)
      .sort()
      .join(', '),
  );
  if (here === there) return [pass(`${path} publishes ${here}`)];
  return [
    fail(
      `${path} publishes ${there || 'no key'}, and the file has ${here}`,
      'Clients refuse tokens that a key outside of the set has signed. Give every replica the same file',
    ),
  ];
}
