import { inject } from 'vitest';
import { OWN_PREFIX, openDatabase, type TestDatabase } from '../../src/testing/clone-database.ts';
import { onServer, withDatabase } from '../../src/testing/on-server.ts';

/** Starts a server that tells nobody where its database is, and opens that, too. */
export async function startWithDatabase<Server extends AsyncDisposable>(
  start: () => Promise<Server>,
): Promise<{ readonly usher: Server; readonly database: TestDatabase } & AsyncDisposable> {
  const before = await listOwnDatabases();
  const usher = await start();
  const [name = ''] = (await listOwnDatabases()).filter((found) => !before.includes(found));
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

/** Returns the databases of this process. Other files create and drop theirs meanwhile. */
export async function listOwnDatabases(): Promise<readonly string[]> {
  const rows = await onServer(
    inject('postgresUrl'),
    (sql) => sql`select datname as name from pg_database where starts_with(datname, ${OWN_PREFIX})`,
  );
  return rows.map(({ name }) => name);
}
