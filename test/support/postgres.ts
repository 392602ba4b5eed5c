import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../src/database/embedded-postgres.ts';
import { migrateDatabase } from '../../src/database/migrate.ts';
import { openClient } from '../../src/database/open-client.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The URL of the server's default database. Tests use `cloneDatabase`. */
    postgresUrl: string;
  }
}

export const TEMPLATE = 'usher_template';

/** Starts one Postgres for the whole run, with a migrated template that every test file clones. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), 'usher-test-'));
  const server = await startEmbeddedPostgres(directory, { durable: false });
  const client = openClient(server.url, { max: 1 });
  await client.unsafe(`create database ${TEMPLATE}`);
  await client.end();
  const template = new URL(server.url);
  template.pathname = TEMPLATE;
  await migrateDatabase(template.href);
  project.provide('postgresUrl', server.url);

  return async () => {
    await server.close();
    await rm(directory, { recursive: true, force: true });
  };
}
