import type { Fixtures } from './fixtures.ts';
import { USHER } from './servers.ts';
import { writeEnvironment } from './start-fixture.ts';
import { type RunningServer, startServer } from './start-server.ts';

/** Starts Usher on the database with the settings of `npm run bench`. */
export async function startUsher(
  stack: AsyncDisposableStack,
  { directory, databaseUrl, fixtures }: { directory: string; databaseUrl: string; fixtures: Fixtures },
  options: { isProfiling?: boolean; preload?: URL } = {},
): Promise<RunningServer> {
  const environment = await writeEnvironment(directory, databaseUrl, fixtures);
  return startServer(stack, USHER, { ...options, environment, directory });
}
