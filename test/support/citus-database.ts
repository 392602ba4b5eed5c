import { inject } from 'vitest';
import { connectServers } from './citus.ts';
import { createDatabase, type TestDatabase } from './database.ts';

/** Creates an empty database on every server of the Citus cluster. Disposal drops it. */
export async function createCitusDatabase(): Promise<TestDatabase> {
  const database = await createDatabase('', [inject('postgresUrl'), ...inject('workerUrls')]);
  await connectServers(inject('postgresUrl'), new URL(database.url).pathname.slice(1));
  return database;
}
