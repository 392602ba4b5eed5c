/** Prepares the migrated database and the secrets. */
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from './config/config.ts';
import { createDirectory } from './config/files.ts';
import { nameSettings } from './config/name-settings.ts';
import { completeSecrets, type Secrets } from './config/secrets.ts';
import { isCluster } from './database/embedded/embedded-cluster.ts';
import { startEmbeddedPostgres } from './database/embedded/embedded-postgres.ts';
import { type MigratedDatabase, migrateDatabase } from './database/migrate/migrate.ts';

export interface Bootstrap extends Pick<MigratedDatabase, 'layout'> {
  /** The URL of a database whose tables are up to date. */
  readonly databaseUrl: string;
  readonly secrets: Secrets;
}

export interface BootstrapOptions {
  readonly logger: Logger;
  /** Called when the embedded Postgres has lost its directory: Usher can no longer serve anything. */
  readonly onFatal?: (() => void) | undefined;
  /** Called with what the start does now. */
  readonly onProgress?: ((step: string) => void) | undefined;
}

/**
 * Migrates the database and reads the secrets. Without `DATABASE_URL`, starts the embedded Postgres, which the disposal
 * of the result stops.
 *
 * @throws Error of one line
 */
export async function bootstrap(config: Config, options: BootstrapOptions): Promise<Bootstrap & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const databaseUrl = config.databaseUrl ?? (await startOwnPostgres(config, options, stack));
  const onWait = (reason: string) => options.logger.warn({ reason }, 'migrations wait');
  const dataDir = config.databaseUrl === undefined ? config.dataDir : undefined;
  const migration = {
    schema: config.databaseSchema,
    dataDir,
    applies: config.migrateOnStart,
    onWait,
    onProgress: options.onProgress,
  };
  const { layout } = await migrateDatabase(databaseUrl, migration);
  // Afterwards, because it writes missing files into a directory that a migration may have to leave untouched.
  const secrets = await completeSecrets(config.secrets, config.dataDir);
  const disposables = stack.move();
  return { databaseUrl, layout, secrets, [Symbol.asyncDispose]: () => disposables.disposeAsync() };
}

async function startOwnPostgres(
  { dataDir }: Config,
  { logger, onFatal, onProgress }: BootstrapOptions,
  stack: AsyncDisposableStack,
): Promise<string> {
  await createDirectory(dataDir).catch(nameSettings('DATA_DIR'));
  const isNew = !isCluster(join(dataDir, 'postgres'));
  onProgress?.(`${isNew ? 'Setting up' : 'Starting'} Postgres in ${dataDir}`);
  const postgres = await startEmbeddedPostgres(dataDir, {
    onFailure: (error) => logger.error({ err: error }, 'embedded Postgres failed'),
    onLoss: (error) => {
      logger.fatal({ err: error }, 'embedded Postgres is gone');
      onFatal?.();
    },
  });
  stack.defer(() => postgres.close());
  return postgres.url;
}
