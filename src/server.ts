/** The composition root: starts everything Usher is made of, in order, and ends it in reverse. */
import type { Logger } from 'pino';
import { Admission } from './api/admission.ts';
import { createOpenEndpoints } from './api/operations/endpoints.ts';
import { createRestAdapter } from './api/rest/adapter.ts';
import { sendFailure } from './api/rest/envelope.ts';
import { createRpcAdapter } from './api/rpc/adapter.ts';
import { createGrpcFastPath } from './api/rpc/grpc-fast-path.ts';
import { createServices } from './api/services.ts';
import { type Bootstrap, bootstrap } from './bootstrap.ts';
import type { Config } from './config/config.ts';
import { Database } from './database/database.ts';
import { createDemoAdapter } from './demo/callback.ts';
import { type Demo, openDemo } from './demo/demo.ts';
import { ApiKeys } from './domain/api-keys/api-keys.ts';
import { AuthTokens } from './domain/login/auth-tokens.ts';
import { ExternalIssuer } from './domain/login/external-issuer.ts';
import { deriveLoginCodeKeys } from './domain/login/login-code.ts';
import { SigningKeyCipher } from './domain/webhooks/signing-key-cipher.ts';
import type { HttpAdapter, HttpHandler } from './http/http-context.ts';
import { openListener } from './http/listener.ts';
import { runExpiryJob } from './jobs/expiry.ts';
import { readUsedKeyIds, requireKeys, runKeyRotation } from './jobs/key-rotation.ts';
import { createLogger } from './log.ts';
import { LoginMailer } from './login-page/login-mailer.ts';
import { createLoginAdapter } from './login-page/login-page.ts';
import { createMailer, createTerminalMailer, type DeliverCode } from './login-page/mailer.ts';

/** How long the first statements may take. */
const START_TIMEOUT_MS = 10_000;
/** How long Postgres may take to show that it is there. */
const PING_TIMEOUT_MS = 1_000;

export interface Service {
  /** How this machine reaches the service. */
  readonly url: string;
  /** Where the service runs on its embedded Postgres. */
  readonly demo: Demo | undefined;
  /** Takes no new work, finishes what is under way, and lets go of everything. */
  close(): Promise<void>;
}

/** What tests put in the place of the real thing, and what a worker is given by its primary. */
export interface Overrides {
  readonly foundation?: Bootstrap;
  readonly demo?: Demo | undefined;
  readonly clock?: () => Date;
  readonly logger?: Logger;
  readonly deliver?: DeliverCode;
}

/** Rejects with an Error of one clear line where something cannot be started. */
export async function startServer(config: Config, overrides: Overrides = {}): Promise<Service> {
  const clock = overrides.clock ?? (() => new Date());
  const logger = overrides.logger ?? createLogger(config.logLevel);
  await using starting = new AsyncDisposableStack();

  const foundation = overrides.foundation ?? starting.use(await bootstrap(config));
  const { databaseUrl, isEmbedded, secrets } = foundation;
  const database = new Database(databaseUrl, {
    connections: config.databaseConnections,
    statementTimeoutMs: config.requestTimeoutMs,
  });
  starting.defer(() => database.close());
  const cipher = new SigningKeyCipher(secrets.encryptionKeys);
  const usedKeyIds = await readUsedKeyIds(database.within(performance.now() + START_TIMEOUT_MS));
  requireKeys(cipher, usedKeyIds);

  const outbox = new LoginMailer(overrides.deliver ?? createDelivery(config), logger);
  starting.defer(() => outbox.close());
  const listener = await openListener(config);
  const url = urlOf(config, listener.port);
  const publicUrl = config.publicUrl ?? url;
  const drain = new AbortController();
  const background: Promise<void>[] = [];
  starting.defer(async () => {
    await Promise.all(background);
  });
  starting.defer(() => listener.close(config.shutdownTimeoutMs));
  // The settings alone do not tell where the public URL is left to us.
  if (config.authIssuer?.issuer === publicUrl) throw new Error('AUTH_ISSUER must not be PUBLIC_URL');
  const isReady = async () => !drain.signal.aborted && (await answers(database));

  const external = config.authIssuer && new ExternalIssuer(config.authIssuer.issuer, config.authIssuer.jwksUrl);
  const tokens = await AuthTokens.create(publicUrl, secrets.authSigningKeys, external);
  const ownPageUrl = `${publicUrl.replace(/\/$/, '')}/login`;
  const authPageUrl = config.authPageUrl ?? ownPageUrl;
  const hasOwnPage = config.authPageUrl === undefined;
  const services = createServices({
    adminKey: secrets.adminKey,
    admission: new Admission(config.requestTimeoutMs),
    apiKeys: new ApiKeys((statement, parameters) =>
      database.run(statement, parameters, performance.now() + config.requestTimeoutMs),
    ),
    authPageUrl,
    cipher,
    drain: drain.signal,
    isReady,
    logger,
    tokens,
  });
  const environment = { database, clock, requestTimeoutMs: config.requestTimeoutMs };
  const rest = createRestAdapter(services.procedures, environment, logger);
  const adapters: HttpAdapter[] = [
    createRpcAdapter(services, environment, logger),
    createOpenEndpoints(tokens.publicJwks, isReady),
  ];
  if (hasOwnPage) {
    const codeKeys = deriveLoginCodeKeys(secrets.encryptionKeys);
    const methods = config.loginMethods;
    adapters.push(
      createLoginAdapter({ ...environment, codeKeys, logger, methods, outbox, pageUrl: ownPageUrl, tokens }),
    );
  }
  let { demo } = overrides;
  if (isEmbedded) {
    const call = { run: database.within(performance.now() + START_TIMEOUT_MS), now: clock() };
    const showsCodes = hasOwnPage && !config.smtp && config.loginMethods.includes('email');
    demo ??= await openDemo(call, { directory: config.dataDir, url, authPageUrl, showsCodes, tokens, cipher });
    adapters.push(createDemoAdapter(demo, url));
  }

  const { signal } = drain;
  const housekept = runExpiryJob(database, {
    clock,
    signal,
    onError: (error) => logger.warn({ err: error }, 'housekeeping failed'),
  });
  const retired = runKeyRotation(database, cipher, usedKeyIds, {
    signal,
    tell: (keyId, state) => logger.info({ keyId }, `encryption key ${state}`),
    onError: (error) => logger.warn({ err: error }, 'encrypting anew failed'),
  });
  background.push(housekept, retired);
  // The first to end: readiness fails, and work in the background stops, before the listener closes.
  starting.defer(() => drain.abort());

  listener.serve(
    createHandler(rest, adapters),
    createGrpcFastPath(services.procedures, environment, logger),
    (error, requestId) => logger.error({ err: error, requestId }, 'unexpected error'),
  );
  logger.info({ url, publicUrl, database: isEmbedded ? 'embedded' : 'external' }, 'listening');

  const started = starting.move();
  return { url, demo, close: () => started.disposeAsync() };
}

function urlOf({ host, tls }: Config, port: number): string {
  const isLocal = ['127.0.0.1', '0.0.0.0', '::', '::1'].includes(host);
  const name = isLocal ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `${tls ? 'https' : 'http'}://${name}:${port}`;
}

/** Who answers what: all below `/api` is REST's, and the rest goes to the first adapter that knows the path. */
function createHandler(rest: HttpHandler, adapters: readonly HttpAdapter[]): HttpHandler {
  return async (exchange) => {
    if (exchange.path === '/api' || exchange.path.startsWith('/api/')) return rest(exchange);
    for (const answer of adapters) if (await answer(exchange)) return;
    sendFailure(exchange, 404, 'Not found');
  };
}

function createDelivery({ smtp }: Config): DeliverCode {
  return smtp ? createMailer(smtp.url, smtp.from) : createTerminalMailer((text) => process.stdout.write(text));
}

async function answers(database: Database): Promise<boolean> {
  return database.ping(performance.now() + PING_TIMEOUT_MS).then(
    () => true,
    () => false,
  );
}
