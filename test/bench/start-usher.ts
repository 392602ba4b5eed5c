import type { Fixtures } from './fixtures.ts';
import { usher } from './lineup.ts';
import { type RunningServer, startServer } from './start-server.ts';
import { writeEnvironment } from './start-stage.ts';

/** Usher on the database, as the comparison with others starts it. */
export async function startUsher(
  stack: AsyncDisposableStack,
  { directory, databaseUrl, fixtures }: { directory: string; databaseUrl: string; fixtures: Fixtures },
  isProfiling = false,
): Promise<RunningServer> {
  const environment = await writeEnvironment(directory, databaseUrl, fixtures);
  return startServer(stack, usher, { environment, directory, isProfiling });
}
