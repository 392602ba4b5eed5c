/** The composition root: starts everything Usher is made of, in order, and ends it in reverse. */
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { AuthTokens } from './core/auth/auth-tokens.ts';
import { ApiKeys } from './core/auth/authenticate-application.ts';
import { keepHouse } from './core/housekeeping.ts';
import { SigningKeyCipher } from './core/webhooks/signing-key-cipher.ts';
import { Database } from './db/database.ts';
import { startEmbeddedPostgres } from './db/embedded.ts';
import { migrateDatabase } from './db/migrate.ts';
import { type Demo, openDemo } from './demo.ts';
import { createLogger } from './log.ts';
import { sendFailure } from './net/envelope.ts';
import type { HttpHandler } from './net/exchange.ts';
import { openListener } from './net/listener.ts';
import { createRestAdapter, type RestAdapter } from './rest/adapter.ts';
import { createOperationsAdapter, type OperationsAdapter } from './rest/operations.ts';
import { createRpcAdapter, type RpcAdapter } from './rpc/adapter.ts';
import { createServices } from './rpc/services.ts';
import { completeSecrets, type Secrets } from './secrets.ts';

export interface Service {
  /** How this machine reaches the service. */
  readonly url: string;
  /** Where the service runs on its embedded Postgres. */
  readonly demo: Demo | undefined;
  /** Takes no new work, finishes what is under way, and lets go of everything. */
  close(): Promise<void>;
}

/** What tests put in the place of the real thing. */
export interface Overrides {
  readonly clock?: () => Date;
  readonly logger?: Logger;
}

/** Rejects with an Error of one clear line where something cannot be started. */
export async function startService(config: Config, overrides: Overrides = {}): Promise<Service> {
  const clock = overrides.clock ?? (() => new Date());
  const logger = overrides.logger ?? createLogger(config.logLevel);
  await using starting = new AsyncDisposableStack();

  const databaseUrl = config.databaseUrl ?? (await startOwnPostgres(config, starting));
  const secrets = await readSecrets(config);
  await migrateDatabase(databaseUrl);
  const database = new Database(databaseUrl, {
    lanes: config.databaseLanes,
    statementTimeoutMs: config.requestTimeoutMs,
  });
  starting.defer(() => database.close());

  const listener = await openListener(config);
  const url = urlOf(config, listener.port);
  const publicUrl = config.publicUrl ?? url;
  let isDraining = false;
  starting.defer(async () => {
    isDraining = true;
    await listener.close(config.shutdownTimeoutMs);
  });
  const isReady = async () => !isDraining && (await answers(database));

  const tokens = await AuthTokens.create(publicUrl, secrets.signingKeys);
  const cipher = new SigningKeyCipher(secrets.encryptionKeys);
  const services = createServices({
    adminKey: secrets.adminKey,
    apiKeys: new ApiKeys(),
    authPageUrl: config.authPageUrl ?? `${publicUrl.replace(/\/$/, '')}/login`,
    cipher,
    isReady,
    logger,
    tokens,
  });
  const environment = { database, clock, requestTimeoutMs: config.requestTimeoutMs };
  const handle = createHandler(
    createOperationsAdapter(tokens.publicJwks, isReady),
    createRestAdapter(services, environment, logger),
    createRpcAdapter(services, environment, logger),
  );

  const housekeeping = new AbortController();
  const housekept = keepHouse(database, {
    clock,
    signal: housekeeping.signal,
    onError: (error) => logger.warn({ err: error }, 'housekeeping failed'),
  });
  starting.defer(async () => {
    housekeeping.abort();
    await housekept;
  });

  const call = { run: database.within(performance.now() + START_TIMEOUT_MS), now: clock() };
  const demo = config.databaseUrl ? undefined : await openDemo(config.dataDir, call, { tokens, cipher });
  listener.serve(handle, (error, requestId) => logger.error({ err: error, requestId }, 'unexpected error'));
  logger.info({ url, publicUrl, database: config.databaseUrl ? 'external' : 'embedded' }, 'listening');

  const started = starting.move();
  return { url, demo, close: () => started.disposeAsync() };
}

/** How long the first statements may take. */
const START_TIMEOUT_MS = 10_000;
/** How long Postgres may take to show that it is there. */
const PING_TIMEOUT_MS = 1_000;

async function startOwnPostgres({ dataDir }: Config, starting: AsyncDisposableStack): Promise<string> {
  const postgres = await startEmbeddedPostgres(dataDir);
  starting.defer(() => postgres.close());
  return postgres.url;
}

async function readSecrets({ secrets, dataDir, databaseUrl }: Config): Promise<Secrets> {
  const { adminKey, signingKeys, encryptionKeys } = secrets;
  if (adminKey && signingKeys && encryptionKeys) return { adminKey, signingKeys, encryptionKeys };
  if (databaseUrl) throw new Error('A secret is missing');
  return completeSecrets(secrets, dataDir);
}

function urlOf({ host, tls }: Config, port: number): string {
  const isLocal = ['127.0.0.1', '0.0.0.0', '::', '::1'].includes(host);
  const name = isLocal ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `${tls ? 'https' : 'http'}://${name}:${port}`;
}

/** Who answers what, by path. */
function createHandler(operations: OperationsAdapter, rest: RestAdapter, rpc: RpcAdapter): HttpHandler {
  return async (exchange) => {
    if (exchange.path.startsWith('/api/') || exchange.path === '/api') await rest(exchange);
    else if (!rpc(exchange) && !(await operations(exchange))) sendFailure(exchange, 404, 'Not found');
  };
}

async function answers(database: Database): Promise<boolean> {
  return database.ping(performance.now() + PING_TIMEOUT_MS).then(
    () => true,
    () => false,
  );
}
