/** The composition root: starts the parts of Usher in order, and stops them in reverse order. */
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { createApi } from './api/api.ts';
import { createCors } from './api/cors.ts';
import { renderFailure } from './api/envelope.ts';
import { createLineLimits } from './api/log-limits.ts';
import { PROBE_PATHS } from './api/operations/endpoints.ts';
import { Readiness } from './api/operations/readiness.ts';
import { type Bootstrap, type BootstrapOptions, bootstrap } from './bootstrap.ts';
import { nameSettings } from './config/name-settings.ts';
import { createOperatorCheck } from './config/operators.ts';
import { Database } from './database/pool/database.ts';
import { openDelivery } from './delivery/open-delivery.ts';
import { ApiKeys } from './domain/api-keys/api-keys.ts';
import { openClock } from './domain/core/database-clock.ts';
import { RowCipher } from './domain/crypto/aes-gcm.ts';
import { EncryptionKeys } from './domain/crypto/encryption-keys.ts';
import { deriveLoginCodeKeys } from './domain/login/login-code.ts';
import { UnknownAddresses } from './domain/login/record-attempt.ts';
import { SignUpRules } from './domain/login/sign-up-rules.ts';
import { AdminKeys } from './domain/operators/admin-keys.ts';
import { PageTokens } from './domain/pages/list.ts';
import { AuthTokens } from './domain/tokens/auth-tokens.ts';
import { AddressPolicy, createBlockList, LOOPBACK } from './domain/webhooks/address-policy.ts';
import { Listener } from './http/listener.ts';
import { requireKeys } from './jobs/key-rotation.ts';
import { MemoryCounts } from './jobs/memory-counts.ts';
import { runJobs } from './jobs/run-jobs.ts';
import { createLogger } from './log.ts';
import { NetworkLimit } from './login-page/browser/network-limit.ts';
import { createLoginAdmission, createLoginHandlers } from './login-page/create-login-handlers.ts';
import { toPageParts } from './login-page/offer/page-offer.ts';
import { openMail } from './mail/open-mail.ts';
import type { MailSender } from './mail/send-mail.ts';
import { type Collect, createCollect } from './metrics/collect.ts';
import { Recorder } from './metrics/recorder.ts';
import type { Core, ReadModuleHealth } from './modules/module.ts';
import type { FullConfig } from './modules/modules.ts';
import { collectOffers, type OpenedModules, openModules } from './modules/open-modules.ts';
import { pause } from './pause.ts';
import { createReferenceEndpoints } from './reference/endpoints.ts';

export interface UsherServer {
  /** The URL at which this machine reaches the server. */
  readonly url: string;
  readonly modules: OpenedModules;
  /** What modules get of it, for programs that run it in their own process. */
  readonly core: Core;
  /** Reads the metrics. Undefined without `METRICS_PORT`. */
  readonly collect: Collect | undefined;
  /** Accepts no new calls, finishes the calls in flight, and releases all resources. */
  close(): Promise<void>;
}

/** Parts that a test replaces. */
export interface Overrides extends Omit<BootstrapOptions, 'logger'> {
  readonly bootstrap?: Bootstrap;
  /** Replaces the clock of Postgres. */
  readonly clock?: () => Date;
  readonly logger?: Logger;
  readonly sendMail?: MailSender['send'];
}

/** @throws Error of one line if something cannot be started, or if the settings contradict each other */
export async function startServer(config: FullConfig, overrides: Overrides = {}): Promise<UsherServer> {
  const logger = overrides.logger ?? createLogger(config.logLevel);
  const { requestTimeoutMs, sessionMaxAgeSeconds, webhooksPerApplication } = config;
  const isEmbedded = config.databaseUrl === undefined;
  await using stack = new AsyncDisposableStack();

  // The database, and the parts from which others are built.
  const base = overrides.bootstrap ?? stack.use(await bootstrap(config, { ...overrides, logger }));
  const { databaseUrl, layout } = base;
  const encryptionKeys = new EncryptionKeys();
  encryptionKeys.replace(base.secrets.encryptionKeys);
  const secrets = { ...base.secrets, encryptionKeys };
  const recorder = config.metricsPort === undefined ? undefined : new Recorder();
  stack.defer(() => recorder?.close());
  const { recordCall, recordStatement } = recorder ?? {};
  const database = new Database(databaseUrl, {
    clock: overrides.clock,
    connections: config.databaseConnections,
    layout,
    onNoLeases: (err) => logger.warn({ err }, 'no leases, so an old primary may answer'),
    recordStatement,
    schema: config.databaseSchema,
    statementTimeoutMs: requestTimeoutMs,
  });
  stack.defer(() => database.close());
  const time = await openClock((deadline) => database.readTime(deadline), overrides.clock);
  const clock = time.read;
  const cipher = new RowCipher(secrets.encryptionKeys);
  const usedKeyIds = await requireKeys(cipher, database);

  // The port is bound first: the URLs of Usher may depend on it.
  const trustedProxies = createBlockList(config.trustedProxies);
  const listening = { ...config, trustedProxies, renderError: renderFailure };
  const listener = await Listener.open(listening).catch(nameSettings('HOST', 'PORT'));
  const publicUrl = config.publicUrl ?? listener.url;
  const authPageUrl = config.authPageUrl ?? `${publicUrl.replace(/\/$/, '')}/login`;
  const offers = collectOffers(config, { authPageUrl, publicUrl, secrets });
  const pageOffers = [...offers.values()].flatMap((offer) => offer.pages ?? []);
  const pages = toPageParts(pageOffers);
  const protocol = [...offers.values()].find((offer) => offer.protocol)?.protocol;
  const { createIntrospection, logoutTokens } = protocol ?? {};

  // Parts that are closed after the last request, because requests use them.
  const policy = new AddressPolicy(config.webhookAllowedNetworks ?? (isEmbedded ? LOOPBACK : []));
  const onFannedOut = (applicationId: string) => api.onFannedOut(applicationId);
  const deliveryParts = { cipher, clock, logger, logoutTokens, onFannedOut, policy, recordStatement };
  const delivery = openDelivery({ ...config, databaseUrl, layout }, deliveryParts);
  stack.defer(() => delivery.close());
  const { mailer, mailServer, openNotices } = openMail(config, { clock, logger }, overrides.sendMail);
  stack.defer(() => mailer.close());
  const [shutdown, closing] = [new AbortController(), new AbortController()];
  const jobs: Promise<void>[] = [];
  const apiKeys = new ApiKeys(database.eachWithin(requestTimeoutMs), clock);
  const unknownAddresses = new UnknownAddresses(deriveLoginCodeKeys(secrets.encryptionKeys));
  const counts = new MemoryCounts({ apiKeys, clock, database, delivery, logger, mailer, unknownAddresses });
  stack.defer(async () => {
    await Promise.all(jobs);
    await counts.save(requestTimeoutMs);
  });
  stack.defer(() => listener.close(config.shutdownTimeoutMs));

  // The handlers of requests.
  const tokens = await AuthTokens.create(publicUrl, secrets.authSigningKeys, protocol?.answers);
  const notices = openNotices({ ...pages, authPageUrl, clock, database, encryptionKeys });
  const core = {
    ...createLineLimits(logger),
    apiKeys,
    adminKeys: new AdminKeys([{ name: 'admin', key: secrets.adminKey }, ...config.adminKeys]),
    authPageUrl,
    cipher,
    clock,
    closing: closing.signal,
    count: counts.count,
    database,
    databaseUrl,
    errorsUrl: `${publicUrl.replace(/\/$/, '')}/docs/errors`,
    hasOidc: logoutTokens !== undefined,
    health: new Set<ReadModuleHealth>(),
    isOperator: createOperatorCheck(config),
    logger,
    logins: new NetworkLimit(),
    mailer,
    mailServer,
    notices,
    onMessage: delivery.wake,
    pages,
    pageTokens: new PageTokens(secrets.encryptionKeys),
    passkeyHost: config.passkeyRpId ?? new URL(authPageUrl).hostname,
    policy,
    providers: pages.providers,
    readiness: new Readiness(database, shutdown.signal),
    recordCall,
    recoverUrl: config.authPageUrl === undefined ? authPageUrl.replace(/\/login$/, '/recover') : undefined,
    requestTimeoutMs,
    secrets,
    sessionMaxAgeSeconds,
    signUps: new SignUpRules(config.blockedEmailDomains),
    tokens,
    trustedProxies,
    unknownAddresses,
    url: listener.url,
    webhooksPerApplication,
  };
  const api = createApi({ ...core, createIntrospection });
  const loginAdmission = createLoginAdmission(requestTimeoutMs);
  const parts = { ...core, api, loginAdmission, onSignedOut: api.onSignedOut };
  const modules = stack.use(await openModules(offers, parts));
  const reference = createReferenceEndpoints({
    adminKeyFile: resolve(config.dataDir, 'admin-key'),
    greetings: modules.greetings,
    hasAccountPage: config.authPageUrl === undefined,
    hasOidc: core.hasOidc,
    publicUrl,
    url: core.url,
  });
  const loginHandlers = createLoginHandlers(config, secrets, parts, pageOffers);
  const handlers = [...api.handlers, reference, ...modules.handlers, ...loginHandlers];

  // Starts the jobs, and then serves requests.
  jobs.push(
    delivery.run(closing.signal),
    counts.run(closing.signal),
    mailServer.greet(closing.signal),
    pages.signInWays.run({ logger, signal: closing.signal }),
    runJobs(config, {
      ...core,
      encryptionKeys,
      time,
      onRemoved: recorder?.recordExpiredRows,
      setCertificate: (given) => [listener, modules].map((each) => each.setCertificate(given)),
      signal: closing.signal,
      usedKeyIds,
    }),
  );
  // Disposed first: readiness fails while calls are still accepted, so that load balancers notice. Then jobs stop.
  stack.defer(async () => {
    shutdown.abort();
    await pause(config.shutdownDelayMs);
    closing.abort();
  });
  listener.serve({
    handlers: [...createCors(config.corsOrigins), ...handlers],
    handleStream: api.handleStream,
    pathsWithoutHost: PROBE_PATHS,
    onError: (error, requestId) => logger.error({ err: error, requestId }, 'unexpected error'),
  });
  // In the embedded mode, the first screen shows the URL instead.
  if (!isEmbedded) logger.info({ url: listener.url, publicUrl }, 'listening');
  const collect =
    recorder &&
    createCollect({
      admissions: { ...api.admissions, login: loginAdmission },
      caches: { ...api.caches, ...modules.caches },
      clock,
      databases: { calls: database, webhooks: delivery.database },
      delivery,
      listener,
      mailer,
      mailServer,
      readiness: core.readiness,
      recorder,
    });
  const disposables = stack.move();
  return { url: listener.url, modules, core: parts, collect, close: () => disposables.disposeAsync() };
}
