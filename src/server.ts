/** The composition root: starts everything that Usher consists of, in order, and stops it in reverse. */
import type { Logger } from 'pino';
import { allowOrigins } from './api/cors.ts';
import { renderFailure } from './api/envelope.ts';
import { LineSampler } from './api/line-sampler.ts';
import { PROBE_PATHS } from './api/operations/endpoints.ts';
import { Readiness } from './api/operations/readiness.ts';
import { type Bootstrap, bootstrap } from './bootstrap.ts';
import { blame } from './config/blame.ts';
import type { Config } from './config/config.ts';
import { Database } from './database/database.ts';
import { DatabaseClock } from './database/database-clock.ts';
import { openDelivery } from './delivery/open-delivery.ts';
import type { Demo } from './demo/demo.ts';
import { ApiKeyUsage } from './domain/api-keys/api-key-usage.ts';
import { pause } from './domain/pause.ts';
import type { Revocations } from './domain/sessions/live-sessions.ts';
import { AddressPolicy } from './domain/webhooks/address-policy.ts';
import { SigningKeyCipher } from './domain/webhooks/signing-key-cipher.ts';
import { createHandlers } from './handlers.ts';
import { openListener } from './http/listener.ts';
import { readUsedKeyIds, requireKeys } from './jobs/key-rotation.ts';
import { runJobs } from './jobs/run-jobs.ts';
import { createLogger } from './log.ts';
import { createCodeDelivery, type DeliverCode } from './login-page/code-delivery.ts';
import { LoginMailer } from './login-page/login-mailer.ts';
import { createBacklogReader } from './metrics/backlog-reader.ts';
import { type Collect, createCollect } from './metrics/collect.ts';
import { Recorder } from './metrics/recorder.ts';

/** How long the first statements may take. */
const START_TIMEOUT_MS = 10_000;
/** What the embedded database allows webhooks to reach, so that they can be tried on one machine. */
const LOOPBACK = ['127.0.0.0/8', '::1/128'];

export interface UsherServer {
  /** How this machine reaches the server. */
  readonly url: string;
  /** Defined if the server runs on its embedded Postgres. */
  readonly demo: Demo | undefined;
  /** Reads the metrics. Undefined without `METRICS_PORT`. */
  readonly collect: Collect | undefined;
  /** Accepts no new work, finishes what is in flight, and frees everything. */
  close(): Promise<void>;
}

/** What tests replace, and what a worker gets from its primary. */
export interface Overrides {
  readonly bootstrap?: Bootstrap;
  readonly demo?: Demo | undefined;
  /** The time of calls, and that of Postgres where it counts. */
  readonly clock?: () => Date;
  readonly logger?: Logger;
  readonly revocations?: Revocations;
  readonly deliver?: DeliverCode;
  /** Called when nothing can be served any more. */
  readonly onFatal?: () => void;
}

/** @throws Error of one line if something cannot be started */
export async function startServer(config: Config, overrides: Overrides = {}): Promise<UsherServer> {
  const logger = overrides.logger ?? createLogger(config.logLevel);
  const { requestTimeoutMs } = config;
  await using stack = new AsyncDisposableStack();

  const base = overrides.bootstrap ?? stack.use(await bootstrap(config, { logger, onFatal: overrides.onFatal }));
  const { databaseUrl, isEmbedded, secrets } = base;
  const recorder = config.metricsPort === undefined ? undefined : new Recorder();
  stack.defer(() => recorder?.close());
  const { recordCall, recordStatement } = recorder ?? {};
  const database = new Database(databaseUrl, {
    clock: overrides.clock,
    connections: config.databaseConnections,
    recordStatement,
    schema: config.databaseSchema,
    statementTimeoutMs: requestTimeoutMs,
  });
  stack.defer(() => database.close());
  const time = await openClock(database, overrides.clock);
  const clock = time.read;
  const cipher = new SigningKeyCipher(secrets.encryptionKeys);
  const usedKeyIds = await readUsedKeyIds(database.within(performance.now() + START_TIMEOUT_MS));
  requireKeys(cipher, usedKeyIds);

  const policy = new AddressPolicy(config.webhookAllowedNetworks ?? (isEmbedded ? LOOPBACK : []));
  const delivery = openDelivery({ ...config, databaseUrl }, { cipher, clock, logger, policy, recordStatement });
  stack.defer(() => delivery.close());
  const deliver = overrides.deliver ?? createCodeDelivery(config.smtp);
  const mailer = new LoginMailer(deliver, logger, { isDelayed: config.smtp !== undefined });
  stack.defer(() => mailer.close());
  const listener = await openListener({ ...config, renderError: renderFailure }).catch(blame('HOST', 'PORT'));
  const url = urlOf(config, listener.port);
  const shutdown = new AbortController();
  const closing = new AbortController();
  const jobs: Promise<void>[] = [];
  const usage = new ApiKeyUsage();
  const onUsageError = (error: unknown) => logger.warn({ err: error }, 'API key usage not stored');
  stack.defer(async () => {
    await Promise.all(jobs);
    await usage.save(database.within(performance.now() + requestTimeoutMs)).catch(onUsageError);
  });
  stack.defer(() => listener.close(config.shutdownTimeoutMs));

  const parts = { cipher, clock, database, logger, sampler: new LineSampler(logger), usage };
  const readiness = new Readiness(database, shutdown.signal);
  const handlers = await createHandlers(config, {
    ...parts,
    bootstrap: base,
    closing: closing.signal,
    demo: overrides.demo,
    mailer,
    onMessage: delivery.wake,
    policy,
    readiness,
    recordCall,
    revocations: overrides.revocations,
    url,
  });
  jobs.push(
    delivery.run(closing.signal),
    runJobs(config, {
      ...parts,
      time,
      onRemoved: recorder?.recordExpiredRows,
      onUsageError,
      setCertificate: listener.setCertificate,
      signal: closing.signal,
      usedKeyIds,
    }),
  );
  // Disposed first: load balancers see that readiness fails while calls are still taken; then jobs stop.
  stack.defer(async () => {
    shutdown.abort();
    await pause(config.shutdownDelayMs);
    closing.abort();
  });

  listener.serve({
    handle: allowOrigins(config.corsOrigins, handlers.handle),
    handleStream: handlers.handleStream,
    pathsWithoutHost: PROBE_PATHS,
    onError: (error, requestId) => logger.error({ err: error, requestId }, 'unexpected error'),
  });
  const publicUrl = config.publicUrl ?? url;
  logger.info({ url, publicUrl, database: isEmbedded ? 'embedded' : 'external' }, 'listening');

  const collect =
    recorder &&
    createCollect({
      admissions: handlers.admissions,
      caches: handlers.caches,
      clock,
      databases: { calls: database, webhooks: delivery.database },
      delivery,
      listener,
      mailer,
      readBacklog: createBacklogReader(database),
      readiness,
      recorder,
    });
  const disposables = stack.move();
  return { url, demo: handlers.demo, collect, close: () => disposables.disposeAsync() };
}

/** @throws ClockSkewError */
async function openClock(database: Database, replacement: Overrides['clock']) {
  if (replacement) return { read: replacement, readForDeletion: replacement, measure: () => Promise.resolve() };
  const clock = new DatabaseClock((deadline) => database.readTime(deadline));
  // The first answer takes a connection, too.
  for (let time = 0; time < 2; time++) await clock.measure(performance.now() + START_TIMEOUT_MS);
  clock.requireInStep();
  return clock;
}

function urlOf({ host, tls }: Config, port: number): string {
  const isLocal = ['127.0.0.1', '0.0.0.0', '::', '::1'].includes(host);
  const name = isLocal ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `${tls ? 'https' : 'http'}://${name}:${port}`;
}
