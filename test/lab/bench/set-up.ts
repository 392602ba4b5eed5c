/** Sets up what is measured: a database with rows in it, and Usher. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../../src/database/embedded/embedded-postgres.ts';
import { migrateDatabase } from '../../../src/database/migrate/migrate.ts';
import { AUTH_PAGE_URL, createFixtures, type Fixtures, ISSUER, SIGNING_KEY_ID } from './fixtures.ts';
import type { Progress } from './run-bench.ts';
import { seedDatabase } from './seed-database.ts';
import { USHER } from './servers.ts';
import { type StartedServer, type StartOptions, startServer } from './start-server.ts';

/** Creates a database with `fresh` rows of each kind that a call uses up, and returns the settings of its servers. */
export async function prepareDatabase(
  stack: AsyncDisposableStack,
  fresh: number,
  progress: Progress,
  fixtures: Fixtures = createFixtures(),
): Promise<{ fixtures: Fixtures; environment: Record<string, string>; directory: string }> {
  const directory = await makeDirectory(stack);

  progress('Postgres');
  const postgres = await startEmbeddedPostgres(directory);
  stack.defer(() => postgres.close());
  await migrateDatabase(postgres.url);

  progress(`${fresh} rows of each kind`);
  await seedDatabase(postgres.url, fixtures, fresh);
  return { fixtures, environment: await writeEnvironment(directory, postgres.url, fixtures), directory };
}

/** Creates a temporary directory. Disposing of the stack removes it. */
export async function makeDirectory(stack: AsyncDisposableStack): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'usher-bench-'));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Starts Usher on the database with the settings of `npm run bench`. */
export async function startUsher(
  stack: AsyncDisposableStack,
  { directory, databaseUrl, fixtures }: { directory: string; databaseUrl: string; fixtures: Fixtures },
  options: Pick<StartOptions, 'isProfiling' | 'preload'> = {},
): Promise<StartedServer> {
  const environment = await writeEnvironment(directory, databaseUrl, fixtures);
  return startServer(stack, USHER, { ...options, environment, directory });
}

/** Returns the settings of Usher. The baselines read the same ones. */
export async function writeEnvironment(directory: string, databaseUrl: string, { tokenKey, encryptionKey }: Fixtures) {
  const authSigningKeys = join(directory, 'signing-keys.json');
  const encryptionKeys = join(directory, 'encryption-key');
  const jwk = { ...tokenKey.export({ format: 'jwk' }), kid: SIGNING_KEY_ID };
  await writeFile(authSigningKeys, JSON.stringify({ keys: [jwk] }), { mode: 0o600 });
  await writeFile(encryptionKeys, encryptionKey.toString('base64'), { mode: 0o600 });
  return {
    PATH: process.env.PATH ?? '',
    NODE_ENV: 'production',
    LOG_LEVEL: 'info',
    // The other servers have no deadline of a call, which a busy machine may miss.
    REQUEST_TIMEOUT_MS: '60000',
    PUBLIC_URL: ISSUER,
    AUTH_PAGE_URL,
    DATABASE_URL: databaseUrl,
    ADMIN_KEY: randomBytes(32).toString('hex'),
    AUTH_SIGNING_KEYS_FILE: authSigningKeys,
    ENCRYPTION_KEY_FILE: encryptionKeys,
  };
}
