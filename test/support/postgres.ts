import { chmod, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts';
import { makeReady, TEMPLATE } from './ready-directory.ts';
import { createTemporaryDirectory } from './temporary-directory.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The URL of the server's default database. Tests use `cloneDatabase`. */
    postgresUrl: string;
    /** With CITUS_URL, that of each worker. */
    workerUrls: readonly string[];
  }
}

/**
 * Starts one Postgres for the whole run, with a migrated template that every test file clones. With CITUS_URL it is
 * that cluster, and the tables of the template are distributed. Removes whatever the tests leave in the temporary
 * directory, failing ones included.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const temporary = await createTemporaryDirectory();
  // Postgres, haproxy and Patroni run as users who are not its owner.
  await chmod(temporary, 0o755);
  process.env.TMPDIR = temporary;
  const close = await preparePostgres(project, temporary);
  return async () => {
    await close();
    await rm(temporary, { recursive: true, force: true });
  };
}

async function preparePostgres(project: TestProject, temporary: string): Promise<() => Promise<void>> {
  const { CITUS_URL, TEMPLATE_SERVER_URL } = process.env;
  if (CITUS_URL) {
    // It loads all of Usher.
    const { prepareCitus } = await import('./citus.ts');
    const { workerUrls, close } = await prepareCitus(CITUS_URL, TEMPLATE);
    project.provide('postgresUrl', CITUS_URL);
    project.provide('workerUrls', workerUrls);
    return close;
  }
  const server = TEMPLATE_SERVER_URL
    ? { url: TEMPLATE_SERVER_URL, close: async () => {} }
    : await startTemplateServer(temporary);
  project.provide('postgresUrl', server.url);
  project.provide('workerUrls', []);

  return () => server.close();
}

/** Starts a server that has the template, with its files in the directory. */
export async function startTemplateServer(directory: string): Promise<EmbeddedPostgres> {
  const cluster = join(directory, 'postgres');
  await makeReady(cluster);
  return startEmbeddedPostgres(cluster, { durable: false });
}
