/** The Postgres server of a test run, which has a migrated template. */
import { chmod, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { generateOidcSigningKeys } from '../config/signing-keys.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../database/embedded/embedded-postgres.ts';
import { dropLeftovers } from './clone-database.ts';
import { onServer, withDatabase } from './on-server.ts';
import { computeKey, makeReady, TEMPLATE } from './ready-directory.ts';
import { createTemporaryDirectory } from './temporary-directory.ts';

/** What servers in tests share. */
export interface TestRun {
  readonly postgresUrl: string;
  /** The database that each copies. */
  readonly template: string;
  /** The text of OIDC_SIGNING_KEYS_FILE: to generate RSA keys takes longer than most tests. */
  readonly oidcSigningKeys: string;
}

/** Starts a server that has the template, with its files in the directory. */
export async function startTemplateServer(directory: string): Promise<EmbeddedPostgres> {
  const cluster = join(directory, 'postgres');
  await makeReady(cluster);
  return startEmbeddedPostgres(cluster, { durable: false });
}

/** Starts the embedded Postgres with files that disposal removes. */
export async function startTestRun(): Promise<TestRun & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const directory = await createTemporaryDirectory();
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  // Postgres runs as another user if this one is root.
  await chmod(directory, 0o755);
  const postgres = await startTemplateServer(directory);
  stack.defer(() => postgres.close());
  const disposables = stack.move();
  return {
    postgresUrl: postgres.url,
    template: TEMPLATE,
    oidcSigningKeys: generateOidcSigningKeys(),
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}

/** Names the lock under which one process at a time makes the template. */
const LOCK = 0x75736872;

/** Makes a server of somebody else ready, and drops the databases of runs that were killed. @throws Error of one line */
export async function useServer(databaseUrl: string): Promise<TestRun> {
  const { hostname } = new URL(databaseUrl);
  // Nobody means to create databases on a server elsewhere.
  if (!/^(localhost|127(\.\d+){3}|\[::1\]|%2F.*)$/i.test(hostname))
    throw new Error(`databaseUrl must be a server on a loopback address, not ${hostname}`);
  const template = `usher_template_${(await computeKey()).slice(0, 16)}`;
  await dropLeftovers(databaseUrl);
  await onServer(databaseUrl, async (sql) => {
    await sql`select pg_advisory_lock(${LOCK})`;
    const [ready] = await sql`select from pg_database where datname = ${template} and datistemplate`;
    if (ready) return;
    await sql.unsafe(`drop database if exists ${template}`);
    await sql.unsafe(`create database ${template} template template0`);
    const { migrateDatabase } = await import('../database/migrate/migrate.ts');
    await migrateDatabase(withDatabase(databaseUrl, template));
    await sql.unsafe(`alter database ${template} is_template true`);
  });
  return { postgresUrl: databaseUrl, template, oidcSigningKeys: generateOidcSigningKeys() };
}
