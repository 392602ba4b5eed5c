import type { Fixtures } from './fixtures.ts';
import { USHER } from './lineup.ts';
import { writeEnvironment } from './start-fixture.ts';
import { type RunningServer, startServer } from './start-server.ts';

/** Usher on the database, as the comparison with others starts it. */
export async function startUsher(
  stack: AsyncDisposableStack,
  { directory, databaseUrl, fixtures }: { directory: string; databaseUrl: string; fixtures: Fixtures },
  options: { isProfiling?: boolean; preload?: URL } = {},
): Promise<RunningServer> {
  const environment = await writeEnvironment(directory, databaseUrl, fixtures);
  return startServer(stack, USHER, { isProfiling: false, ...options, environment, directory });
}
