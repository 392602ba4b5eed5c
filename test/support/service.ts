/** Starts the service as main does, on a free port and its own database. */
import { randomBytes, randomUUID } from 'node:crypto';
import { globalAgent } from 'node:http';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import type { JWK } from 'jose';
import { AdminService, type CreateApplicationRequestSchema } from '../../gen/usher/v1/admin_pb.ts';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { SessionService } from '../../gen/usher/v1/session_pb.ts';
import { TokenService } from '../../gen/usher/v1/token_pb.ts';
import { UserService } from '../../gen/usher/v1/user_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { createLogger } from '../../src/log.ts';
import { type FullConfig, readFullConfig } from '../../src/modules/modules.ts';
import { type Overrides, startServer } from '../../src/server.ts';
import { createSecretFiles, SECRET_SETTINGS } from '../../src/testing/test-secrets.ts';
import { cloneDatabase, type TestDatabase } from './database.ts';
import { openServices } from './open-services.ts';

export { createSecretFiles };

export const ADMIN_KEY = 'an-admin-key-for-tests-of-sufficient-length';
export const PUBLIC_URL = 'https://usher.test';
export const REDIRECT_URI = 'https://app.test/callback';

export type TestService = Awaited<ReturnType<typeof startTestService>>;
/** An application with its key. */
export type Tenant = Awaited<ReturnType<typeof createTenant>>;
export type TestUser = Awaited<ReturnType<typeof createTestUser>>;

export interface TestServiceOptions extends Omit<Overrides, 'sendMail'> {
  /** Undefined: Usher sends no e-mails. By default, it sends them nowhere. */
  readonly sendMail?: Overrides['sendMail'] | undefined;
  /** Shares a database between two instances. */
  readonly database?: TestDatabase;
  /** The configuration of another instance, to share its secrets. */
  readonly like?: FullConfig;
  readonly config?: Partial<FullConfig>;
  /** Turns OpenID Connect on. The first signs. */
  readonly oidcSigningKeys?: readonly JWK[];
}

const silent = createLogger('silent');

export async function startTestService(options: TestServiceOptions = {}) {
  const database = options.database ?? (await cloneDatabase());
  const base = options.like ?? testConfig(database.url);
  const { oidcSigningKeys } = options;
  const config: FullConfig = {
    ...base,
    databaseUrl: database.url,
    ...(oidcSigningKeys && { secrets: { ...base.secrets, oidcSigningKeys } }),
    ...options.config,
  };
  const { sendMail = 'sendMail' in options || config.smtp ? undefined : async () => {}, ...overrides } = options;
  const service = await startServer(config, { logger: silent, ...overrides, ...(sendMail && { sendMail }) });
  openServices.add(service.url);
  const close = async () => {
    // A service waits half a second for requests on their way, on connections that are open.
    for (const socket of Object.values(globalAgent.freeSockets).flat()) socket?.destroy();
    await service.close();
    openServices.delete(service.url);
    if (!options.database) await database[Symbol.asyncDispose]();
  };
  return {
    url: service.url.replace('localhost', '127.0.0.1'),
    port: Number(new URL(service.url).port),
    config,
    database,
    readClock: options.clock ?? (() => new Date()),
    collect: service.collect,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The settings that all services have in common. */
export const TEST_ENV = {
  PORT: '0',
  PUBLIC_URL,
  ADMIN_KEY,
  ...SECRET_SETTINGS,
};

/** Returns a configuration as read from the environment, with new secrets unless the files are given. */
export function testConfig(
  databaseUrl: string,
  env: Record<string, string> = {},
  files: Readonly<Record<string, string>> = createSecretFiles(),
): FullConfig {
  const config = readFullConfig(
    {
      ...TEST_ENV,
      DATABASE_URL: databaseUrl,
      DATABASE_CONNECTIONS: '2',
      // A busy machine may be slow, and a call that is late is refused, as are more calls while calls are slow.
      REQUEST_TIMEOUT_MS: '60000',
      // Tests of deliveries turn it on.
      WEBHOOK_DELIVERY: 'false',
      ...env,
    },
    (path) => files[path] ?? '',
  );
  // There are no such files that could change.
  return { ...config, keyFiles: { auth: undefined, encryption: undefined, oidc: undefined } };
}

export function adminClient(service: { url: string }) {
  return createClient(AdminService, transportWith(service.url, { 'x-admin-key': ADMIN_KEY }));
}

export function clientsOf(service: { url: string }, tenant: Pick<Tenant, 'apiKey'>) {
  const transport = transportWith(service.url, { 'x-api-key': tenant.apiKey });
  return {
    auth: createClient(AuthService, transport),
    webhooks: createClient(WebhookService, transport),
    events: createClient(EventService, transport),
    sessions: createClient(SessionService, transport),
    tokens: createClient(TokenService, transport),
    users: createClient(UserService, transport),
  };
}

function transportWith(baseUrl: string, headers: Record<string, string>) {
  return createConnectTransport({
    baseUrl,
    httpVersion: '1.1',
    interceptors: [
      (next) => (request) => {
        for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
        return next(request);
      },
    ],
  });
}

export async function createTenant(
  service: { url: string },
  {
    name = 'Test application',
    redirectUris = [REDIRECT_URI],
    ...fields
  }: MessageInitShape<typeof CreateApplicationRequestSchema> = {},
) {
  const request = { name, redirectUris, ...fields };
  const { application, apiKeyId, apiKey } = await adminClient(service).createApplication(request);
  if (!application) throw new Error('No application');
  return { id: application.id, name, clientId: application.clientId, apiKeyId, apiKey };
}

export async function createTestUser(
  service: { url: string },
  fields: {
    email?: string;
    name?: string;
    profileImage?: string;
    walletAddress?: string;
    applicationIds?: string[];
  } = {},
) {
  const { user } = await adminClient(service).createUser({
    email: `${randomBytes(6).toString('hex')}@example.com`,
    walletAddress: `0x${randomBytes(20).toString('hex')}`,
    ...fields,
  });
  if (!user) throw new Error('No user');
  const { id, email, name, profileImage, walletAddress } = user;
  return { id, email, name, profileImage, walletAddress };
}

/** Returns the event's ID. */
export function newGroupName(): string {
  return `group-${randomUUID()}`;
}

/** Creates a group and adds the given users. */
export async function createTestGroup(
  service: { url: string },
  { name = newGroupName(), userIds = [] }: { readonly name?: string; readonly userIds?: readonly string[] } = {},
) {
  const admin = adminClient(service);
  const { group } = await admin.createGroup({ name });
  if (!group) throw new Error('CreateGroup has returned no group');
  for (const userId of userIds) await admin.addGroupMember({ groupId: group.groupId, userId });
  return group;
}

export async function createTestEvent(
  service: { url: string },
  tenant: Pick<Tenant, 'apiKey'>,
  eventId: string = randomUUID(),
): Promise<string> {
  await clientsOf(service, tenant).events.createEvent({ eventId });
  return eventId;
}

/** Creates a webhook of the application. Its owner is a new user where none is given. */
export async function createTestWebhook(
  service: { url: string },
  tenant: Pick<Tenant, 'id' | 'apiKey'>,
  { ownerId, url = 'https://hooks.test/usher?a=b' }: { ownerId?: string; url?: string } = {},
): Promise<{ webhookId: string; signingKey: string }> {
  const owner = ownerId ?? (await createTestUser(service)).id;
  await adminClient(service).addApplicationUser({ applicationId: tenant.id, userId: owner });
  const { webhook } = await clientsOf(service, tenant).webhooks.createWebhook({
    url,
    ownerId: owner,
    eventTypes: ['webhook.test'],
  });
  if (!webhook) throw new Error('No webhook');
  return { webhookId: webhook.webhookId, signingKey: webhook.signingKey };
}

/** Returns the ID of a new login intent. */
export async function createLoginIntent(
  service: { url: string },
  { clientId, apiKey }: Pick<Tenant, 'clientId' | 'apiKey'>,
  {
    redirectUri = REDIRECT_URI,
    state = 'state',
    ...demands
  }: { redirectUri?: string; state?: string; prompt?: string; maxAgeSeconds?: number; requiredAssurance?: string } = {},
): Promise<string> {
  const { auth } = clientsOf(service, { apiKey });
  return (await auth.generateAuthUrl({ clientId, redirectUri, state, ...demands })).loginIntentId;
}

/** Logs the user in to the application and returns the auth token. */
export async function logIn(
  service: { url: string },
  tenant: Tenant,
  user: { id: string },
  login: { onBehalfBy?: string } = {},
): Promise<string> {
  const loginIntentId = await createLoginIntent(service, tenant);
  const { authToken } = await adminClient(service).completeLogin({ loginIntentId, userId: user.id, ...login });
  return authToken;
}

/** Signs the user in to the application and returns the session's ID. */
export async function beginSession(
  service: { url: string },
  tenant: Tenant,
  user: { id: string },
  login: { onBehalfBy?: string } = {},
): Promise<string> {
  const { session } = await clientsOf(service, tenant).auth.exchangeToken({
    authToken: await logIn(service, tenant, user, login),
  });
  if (!session) throw new Error('No session');
  return session.id;
}
