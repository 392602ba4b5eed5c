/** Starts the real server in the process of a test, with a database of its own. */
import { randomBytes } from 'node:crypto';
import { createUsherAdminClient } from '../client/admin-client.ts';
import { createUsherClient } from '../client/usher-client.ts';
import { readSettingFile } from '../config/files.ts';
import type { Secrets } from '../config/secrets.ts';
import { LOOPBACK } from '../domain/webhooks/address-policy.ts';
import { type FullConfig, readFullConfig } from '../modules/modules.ts';
import { startServer } from '../server.ts';
import { copyOf, createDatabaseOn } from './clone-database.ts';
import { Mailbox, MailReader } from './mailbox.ts';
import { beginOutage } from './outage.ts';
import { startTestRun, type TestRun, useServer } from './postgres-server.ts';
import { emptyTables } from './reset.ts';
import { expireNow, findNextDue, settle } from './settle.ts';
import { signIn } from './sign-in.ts';
import { TcpProxy } from './tcp-proxy.ts';
import { findRun, refuseProduction } from './test-environment.ts';
import { createTestLogger, type OnFailure } from './test-log.ts';
import { createSecretFiles, SECRET_SETTINGS } from './test-secrets.ts';
import type { StartUsherOptions, TestUsher } from './test-usher.ts';
import { UsherClock } from './usher-clock.ts';
import { type OpenInbox, openInbox } from './webhook-inbox.ts';

/** Connections for calls. Deliveries have two more. */
const CONNECTIONS = '1';
const PAGE_SIZE = 100;

/** @throws Error of one line, as a start in production does */
export async function startTestUsher(options: StartUsherOptions = {}, onFailure?: OnFailure): Promise<TestUsher> {
  refuseProduction();
  const { log, at, databaseUrl } = options;
  await using stack = new AsyncDisposableStack();
  const run = databaseUrl === undefined ? (findRun() ?? stack.use(await startTestRun())) : await useServer(databaseUrl);
  const database = stack.use(await createDatabaseOn([run.postgresUrl], copyOf(run.template)));
  const { sql } = database;
  const proxy = stack.use(await TcpProxy.open(database.url));
  const adminKey = randomBytes(24).toString('base64url');
  const config = readTestConfig(options, { ...run, adminKey, databaseUrl: proxy.through(database.url) });
  const mailbox = new Mailbox();
  const mailReader = new MailReader(mailbox);
  const clock = new UsherClock(at === undefined ? undefined : new Date(at), {
    settle: () => settle(parts),
    findNextDue: () => findNextDue(parts),
    async forget() {
      clearCaches();
      await expireNow(parts);
      parts.core.api.refreshStreams();
    },
  });
  stack.defer(() => clock.release());
  const bootstrap = {
    databaseUrl: proxy.through(database.url),
    layout: 'whole',
    secrets: config.secrets as Secrets,
  } as const;
  const overrides = {
    bootstrap,
    clock: clock.now,
    logger: createTestLogger(log, onFailure),
    sendMail: mailbox.sendMail,
  };
  let server = await startServer(config, overrides);
  let isRunning = true;
  const stop = async () => {
    if (isRunning) await server.close();
    isRunning = false;
  };
  stack.defer(stop);
  const { url } = server;
  const parts = {
    config,
    clock: clock.now,
    sql,
    get core() {
      return server.core;
    },
  };
  const clearCaches = () => {
    for (const cache of Object.values({ ...server.core.api.caches, ...server.modules.caches })) cache.clear();
  };
  const start = async () => {
    if (!isRunning) server = await startServer({ ...config, port: Number(new URL(url).port) }, overrides);
    isRunning = true;
  };
  const inboxes = new Set<OpenInbox>();
  stack.defer(async () => {
    for (const inbox of inboxes) await inbox[Symbol.asyncDispose]();
  });
  const admin = createUsherAdminClient({ baseUrl: url, adminKey });
  let userCount = 0;
  const usher = {
    url,
    adminKey,
    admin,
    clock,
    async createApplication({
      name = 'Test application',
      redirectUris = ['http://127.0.0.1/callback'],
      ...fields
    } = {}) {
      const { application, apiKeyId, apiKey } = await admin.createApplication({
        ...{ name, redirectUris, allowSignUp: true },
        ...fields,
      });
      if (!application) throw new Error('CreateApplication has returned no application');
      const { id, clientId } = application;
      const client = createUsherClient({ baseUrl: url, apiKey });
      return { id, name, clientId, apiKeyId, apiKey, redirectUris: application.redirectUris, client };
    },
    async createUser({ email = `user-${++userCount}@example.test`, ...fields } = {}) {
      const { user } = await admin.createUser({ email, ...fields });
      if (!user) throw new Error('CreateUser has returned no user');
      return user;
    },
    signIn: (authUrl, user, how) => signIn(parts, authUrl, user, how),
    mails: mailReader.list,
    nextMail: mailReader.next,
    outage: (kind) => beginOutage({ url, admin, proxy, stop, start }, kind),
    settle: () => settle(parts),
    async receiveWebhooks(application, types) {
      const inbox = await openInbox(usher, application, types);
      inboxes.add(inbox);
      return inbox;
    },
    async auditEvents(filter = {}) {
      const events = [];
      for (let pageToken: string | undefined = ''; pageToken !== undefined; ) {
        const page = await admin.listAuditEvents({ pageSize: PAGE_SIZE, ...filter, pageToken });
        events.push(...page.auditEvents);
        pageToken = page.nextPageToken || undefined;
      }
      return events.reverse();
    },
    async reset() {
      await emptyTables(
        sql,
        [...inboxes].map(({ ownerId }) => ownerId),
      );
      clearCaches();
      mailReader.forget();
      for (const inbox of inboxes) inbox.forget();
    },
  } satisfies Omit<TestUsher, keyof AsyncDisposable> as Omit<TestUsher, keyof AsyncDisposable>;
  const disposables = stack.move();
  return { ...usher, [Symbol.asyncDispose]: () => disposables.disposeAsync() };
}

interface OwnSettings extends Pick<TestRun, 'oidcSigningKeys'> {
  readonly adminKey: string;
  readonly databaseUrl: string;
}

/** Reads the settings as production does, with defaults for tests. @throws ConfigError */
function readTestConfig(
  { env, applications }: StartUsherOptions,
  { adminKey, databaseUrl, oidcSigningKeys }: OwnSettings,
) {
  const files: Readonly<Record<string, string>> = { ...createSecretFiles(), 'oidc-keys': oidcSigningKeys };
  const defaults = {
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_KEY: adminKey,
    ...SECRET_SETTINGS,
    OIDC_SIGNING_KEYS_FILE: 'oidc-keys',
    DATABASE_CONNECTIONS: CONNECTIONS,
    // A busy machine is slow, and a call that is late would be refused.
    REQUEST_TIMEOUT_MS: '30000',
    // Connections that clients keep open would delay each disposal.
    SHUTDOWN_TIMEOUT_MS: '20',
    WEBHOOK_ALLOWED_NETWORKS: LOOPBACK.join(','),
    ...(applications !== undefined && { APPLICATIONS_FILE: applications }),
    // Never connected to: the mailbox gets all e-mails.
    SMTP_URL: 'smtp://127.0.0.1:1',
    MAIL_FROM: 'usher@example.test',
  };
  const given = { ...defaults, ...env };
  const config: FullConfig = readFullConfig(
    { ...given, DATABASE_URL: databaseUrl },
    (path) => files[path] ?? readSettingFile(path),
  );
  const isGiven = (path: string | undefined) => (path !== undefined && path in files ? undefined : path);
  const { auth, encryption, oidc } = config.keyFiles;
  // Without a mail server, codes are not delayed. There are no files of our own secrets that could change.
  return {
    ...config,
    smtp: undefined,
    keyFiles: { auth: isGiven(auth), encryption: isGiven(encryption), oidc: isGiven(oidc) },
  };
}
