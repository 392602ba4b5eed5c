import type postgres from 'postgres';
import { openClient } from '../../../src/database/open-client.ts';
import type { Fixtures } from '../fixtures.ts';
import type { Progress } from '../run-bench.ts';
import { prepareDatabase } from '../start-fixture.ts';
import { type Receiver, startReceiver } from './start-receiver.ts';

/** What all parts of the benchmark share. */
export interface Scene {
  readonly progress: Progress;
  readonly fixtures: Fixtures;
  readonly databaseUrl: string;
  /** The settings of Usher. */
  readonly environment: Readonly<Record<string, string>>;
  readonly directory: string;
  readonly sql: postgres.Sql;
  readonly receiver: Receiver;
}

/** Starts a Postgres with the rows of the benchmark, and a receiver. */
export async function openScene(stack: AsyncDisposableStack, progress: Progress): Promise<Scene> {
  const { fixtures, environment, directory } = await prepareDatabase(stack, 1, progress);
  const { DATABASE_URL: databaseUrl = '' } = environment;
  const sql = openClient(databaseUrl, { max: 1, onnotice: () => {} });
  stack.defer(() => sql.end());
  return {
    ...{ progress, fixtures, databaseUrl, directory, sql },
    environment: { ...environment, WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' },
    receiver: await startReceiver(stack),
  };
}
