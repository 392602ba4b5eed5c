import { inject } from 'vitest';
import { createDatabaseOn, type TestDatabase } from '../../src/testing/clone-database.ts';
import { connectServers } from './citus.ts';

/** Creates an empty database on every server of the Citus cluster. Disposal drops it. */
export async function createCitusDatabase(): Promise<TestDatabase> {
  const database = await createDatabaseOn([inject('postgresUrl'), ...inject('workerUrls')], '');
  await connectServers(inject('postgresUrl'), new URL(database.url).pathname.slice(1));
  return database;
}
