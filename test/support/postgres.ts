import { chmod, rm } from 'node:fs/promises';
import type { TestProject } from 'vitest/node';
import { generateOidcSigningKeys } from '../../src/config/signing-keys.ts';
import { startTemplateServer } from '../../src/testing/postgres-server.ts';
import { TEMPLATE } from '../../src/testing/ready-directory.ts';
import { createTemporaryDirectory } from '../../src/testing/temporary-directory.ts';
import { publishRun } from '../../src/testing/test-environment.ts';

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
  const { CITUS_URL } = process.env;
  if (CITUS_URL) {
    // It loads all of Usher.
    const { prepareCitus } = await import('./citus.ts');
    const { workerUrls, close } = await prepareCitus(CITUS_URL, TEMPLATE);
    project.provide('postgresUrl', CITUS_URL);
    project.provide('workerUrls', workerUrls);
    return close;
  }
  const server = await startTemplateServer(temporary);
  project.provide('postgresUrl', server.url);
  project.provide('workerUrls', []);
  publishRun({ postgresUrl: server.url, template: TEMPLATE, oidcSigningKeys: generateOidcSigningKeys() });
  return () => server.close();
}
