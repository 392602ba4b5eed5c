/** What the service stands on, however many processes serve from it. */
import type { Config } from './config/config.ts';
import { completeSecrets, type Secrets } from './config/secrets.ts';
import { startEmbeddedPostgres } from './database/embedded-postgres.ts';
import { migrateDatabase } from './database/migrate.ts';

export interface Bootstrap {
  /** Of a database whose tables are up to date. */
  readonly databaseUrl: string;
  /** Whether that is a Postgres of our own. */
  readonly isEmbedded: boolean;
  readonly secrets: Secrets;
}

/** On disposal an embedded Postgres ends. Rejects with an Error of one clear line. */
export async function bootstrap(config: Config): Promise<Bootstrap & AsyncDisposable> {
  await using laying = new AsyncDisposableStack();
  const databaseUrl = config.databaseUrl ?? (await startOwnPostgres(config, laying));
  const secrets = await readSecrets(config);
  await migrateDatabase(databaseUrl);

  const laid = laying.move();
  return {
    databaseUrl,
    isEmbedded: config.databaseUrl === undefined,
    secrets,
    [Symbol.asyncDispose]: () => laid.disposeAsync(),
  };
}

async function startOwnPostgres({ dataDir }: Config, laying: AsyncDisposableStack): Promise<string> {
  const postgres = await startEmbeddedPostgres(dataDir);
  laying.defer(() => postgres.close());
  return postgres.url;
}

async function readSecrets({ secrets, dataDir, databaseUrl }: Config): Promise<Secrets> {
  const { adminKey, authSigningKeys, encryptionKeys } = secrets;
  if (adminKey && authSigningKeys && encryptionKeys) return { adminKey, authSigningKeys, encryptionKeys };
  if (databaseUrl) throw new Error('A secret is missing');
  return completeSecrets(secrets, dataDir);
}
