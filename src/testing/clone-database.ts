/** Databases for one test file or server each, which disposal drops. */
import { hash, randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { DEFAULT_SCHEMA } from '../config/database-url.ts';
import { openClient } from '../database/connection/open-client.ts';
import type { PostgresClient } from '../database/sql/driver.ts';
import { isProcess } from './is-process.ts';
import { onServer, withDatabase } from './on-server.ts';

export interface TestDatabase extends AsyncDisposable {
  readonly url: string;
  /** A client of its own, to read and change the rows without the service. */
  readonly sql: PostgresClient;
}

/** Begins the names of databases of this machine, of which the ID of a process follows. */
const PREFIX = `usher_test_${hash('sha256', hostname(), 'hex').slice(0, 8)}_`;

/** Begins the names of the databases of this process. */
export const OWN_PREFIX = `${PREFIX}${process.pid}_`;

/** Returns the options of `create database` that copy a template. Cheaper than the default, which logs every page of the copy. */
export function copyOf(template: string): string {
  return `template ${template} strategy file_copy`;
}

/** Creates a database with options of `create database`, on every server. Its URL is that of the first. */
export async function createDatabaseOn(servers: readonly string[], options: string): Promise<TestDatabase> {
  const [first = ''] = servers;
  const name = `${OWN_PREFIX}${randomBytes(8).toString('hex')}`;
  // Workers come first: their coordinator, which has the first URL, looks for its database on them.
  const runOnAll = async (statement: string) => {
    for (const server of servers.toReversed()) await onServer(server, (sql) => sql.unsafe(statement));
  };
  await runOnAll(`create database ${name} ${options}`);
  const database = openDatabase(withDatabase(first, name));
  return {
    ...database,
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]();
      await runOnAll(`drop database if exists ${name} with (force)`);
    },
  };
}

/** Returns a database that exists, of the first server where the URL names several. Disposal does not drop it. */
export function openDatabase(url: string): TestDatabase {
  const sql = openClient(url, { max: 2, onnotice: () => {}, connection: { search_path: DEFAULT_SCHEMA } });
  return { url, sql, [Symbol.asyncDispose]: () => sql.end() };
}

/** Drops the databases of processes of this machine that are gone. */
export async function dropLeftovers(server: string): Promise<void> {
  await onServer(server, async (sql) => {
    const found = await sql`select datname as name from pg_database where starts_with(datname, ${PREFIX})`;
    for (const { name } of found) {
      const pid = Number(/^\d+/.exec(name.slice(PREFIX.length))?.[0]);
      if (!isProcess(pid)) await sql.unsafe(`drop database if exists ${name} with (force)`);
    }
  });
}
