import { inject } from 'vitest';
import { openDatabase, type TestDatabase } from '../../src/testing/clone-database.ts';
import { onServer, withDatabase } from '../../src/testing/on-server.ts';

/** Starts a server that tells nobody where its database is, and opens that, too. */
export async function startWithDatabase<Server extends AsyncDisposable>(
  start: () => Promise<Server>,
): Promise<{ readonly usher: Server; readonly database: TestDatabase } & AsyncDisposable> {
  const before = await listDatabases();
  const usher = await start();
  const [name = ''] = (await listDatabases()).filter((found) => !before.includes(found));
  const database = openDatabase(withDatabase(inject('postgresUrl'), name));
  return {
    usher,
    database,
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]();
      await usher[Symbol.asyncDispose]();
    },
  };
}

async function listDatabases(): Promise<readonly string[]> {
  const rows = await onServer(inject('postgresUrl'), (sql) => sql`select datname as name from pg_database`);
  return rows.map(({ name }) => name);
}
