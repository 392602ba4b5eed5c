/** Every list, with what adds to it, for tests that go over all of them. */
import { randomUUID } from 'node:crypto';
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import { decodeJwt } from 'jose';
import type { Operation } from '../../src/api/catalogue.ts';
import { AuthTokens } from '../../src/domain/tokens/auth-tokens.ts';
import { OPERATIONS } from './operations.ts';
import { refuseSignIn } from './restricted-access.ts';
import { insertRecoveryLink } from './samples.ts';
import {
  adminClient,
  clientsOf,
  createTenant,
  createTestEvent,
  createTestGroup,
  createTestUser,
  createTestWebhook,
  logIn,
  PUBLIC_URL,
  type Tenant,
  type TestService,
} from './service.ts';

export interface List {
  /** The field of the response that holds the items. */
  readonly items: string;
  /** The field of an item that tells it from others. */
  readonly key: string;
  /** Returns fields that a request needs, and a function that adds an item and returns its key. */
  open(fixture: ListFixture): OpenList | Promise<OpenList>;
}

interface ListFixture {
  readonly service: TestService;
  readonly tenant: Tenant;
}

interface OpenList {
  readonly fields: JsonObject;
  add(): Promise<string>;
}

const LISTS: Readonly<Record<string, List>> = {
  'AdminService/ListAuditEvents': {
    items: 'auditEvents',
    key: 'auditEventId',
    open({ service, tenant }) {
      const { id: applicationId } = tenant;
      const add = async () => {
        await createTestEvent(service, tenant);
        const { auditEvents } = await adminClient(service).listAuditEvents({ applicationId, pageSize: 100 });
        const [{ auditEventId } = { auditEventId: '' }] = auditEvents.filter(({ auditEventId: id }) => !seen.has(id));
        for (const each of auditEvents) seen.add(each.auditEventId);
        return auditEventId;
      };
      const seen = new Set<string>();
      return { fields: { applicationId }, add };
    },
  },
  'AdminService/ListSignInAttempts': {
    items: 'signInAttempts',
    key: 'userId',
    open({ service, tenant }) {
      return { fields: { applicationId: tenant.id }, add: () => refuseSignIn(service, tenant) };
    },
  },
  'AdminService/ListApiKeys': {
    items: 'apiKeys',
    key: 'apiKeyId',
    async open({ service }) {
      const { id: applicationId } = await createTenant(service);
      const add = async () => (await adminClient(service).createApiKey({ applicationId })).apiKeyId;
      return { fields: { applicationId }, add };
    },
  },
  'AdminService/ListRecoveryLinks': {
    items: 'recoveryLinks',
    key: 'recoveryLinkId',
    async open({ service }) {
      const { id: userId } = await createTestUser(service);
      const add = () => insertRecoveryLink(service.database, userId, 'REVOKED', service.readClock());
      return { fields: { userId }, add };
    },
  },
  'AdminService/ListApplications': {
    items: 'applications',
    key: 'id',
    open: ({ service }) => ({ fields: {}, add: async () => (await createTenant(service)).id }),
  },
  'EventService/ListCheckIns': {
    items: 'checkIns',
    key: 'attendeeId',
    async open({ service, tenant }) {
      const eventId = await createTestEvent(service, tenant);
      const add = async () => {
        const attendeeId = randomUUID();
        await clientsOf(service, tenant).events.checkIn({ eventId, attendeeId });
        return attendeeId;
      };
      return { fields: { eventId }, add };
    },
  },
  'EventService/ListAttendees': {
    items: 'attendees',
    key: 'attendeeId',
    async open({ service, tenant }) {
      const eventId = await createTestEvent(service, tenant);
      const { events } = clientsOf(service, tenant);
      const add = async () => {
        const attendeeId = randomUUID();
        await events.batchPutAttendees({ eventId, attendees: [{ attendeeId }] });
        return attendeeId;
      };
      return { fields: { eventId }, add };
    },
  },
  'WebhookService/ListWebhooks': {
    items: 'webhooks',
    key: 'webhookId',
    open: ({ service, tenant }) => ({
      fields: {},
      add: async () => (await createTestWebhook(service, tenant)).webhookId,
    }),
  },
  'WebhookService/ListDeliveries': {
    items: 'deliveries',
    key: 'messageId',
    async open({ service, tenant }) {
      const { webhookId } = await createTestWebhook(service, tenant);
      const { webhooks } = clientsOf(service, tenant);
      return { fields: { webhookId }, add: async () => (await webhooks.sendTestMessage({ webhookId })).messageId };
    },
  },
  'EventService/ListEvents': {
    items: 'events',
    key: 'eventId',
    open: ({ service, tenant }) => ({ fields: {}, add: () => createTestEvent(service, tenant, randomUUID()) }),
  },
  'AdminService/ListUsers': {
    items: 'users',
    key: 'id',
    open: ({ service }) => ({ fields: {}, add: async () => (await createTestUser(service)).id }),
  },
  'AdminService/ListUserSessions': {
    items: 'sessions',
    key: 'applicationId',
    open: openUser,
  },
  'AdminService/ListUserGrants': {
    items: 'grants',
    key: 'grantId',
    async open(fixture) {
      const user = await createTestUser(fixture.service);
      return { fields: { userId: user.id }, add: openGrants(fixture, user) };
    },
  },
  'SessionService/ListGrants': {
    items: 'grants',
    key: 'grantId',
    open: (fixture) => ({ fields: {}, add: openGrants(fixture) }),
  },
  'AdminService/ListUserApplications': {
    items: 'applications',
    key: 'applicationId',
    open: openUser,
  },
  'AdminService/ListGroups': {
    items: 'groups',
    key: 'groupId',
    open: ({ service }) => ({ fields: {}, add: async () => (await createTestGroup(service)).groupId }),
  },
  'AdminService/ListGroupMembers': {
    items: 'members',
    key: 'userId',
    async open({ service }) {
      const { groupId } = await createTestGroup(service);
      const add = async () => {
        const { id: userId } = await createTestUser(service);
        await adminClient(service).addGroupMember({ groupId, userId });
        return userId;
      };
      return { fields: { groupId }, add };
    },
  },
  'AdminService/ListUserGroups': {
    items: 'groups',
    key: 'groupId',
    async open({ service }) {
      const { id: userId } = await createTestUser(service);
      const add = async () => (await createTestGroup(service, { userIds: [userId] })).groupId;
      return { fields: { userId }, add };
    },
  },
  'UserService/ListUsers': {
    items: 'users',
    key: 'id',
    open: async (fixture) => ({ fields: {}, add: await openSignIn(fixture) }),
  },
  'UserService/ListInvitations': {
    items: 'invitations',
    key: 'invitationId',
    open: ({ service, tenant }) => {
      const invite = () =>
        adminClient(service).inviteUser({ applicationId: tenant.id, email: `${randomUUID()}@example.com` });
      return { fields: {}, add: async () => (await invite()).invitation?.invitationId ?? '' };
    },
  },
  'SessionService/ListSessions': {
    items: 'sessions',
    key: 'userId',
    open: async (fixture) => ({ fields: {}, add: await openSignIn(fixture) }),
  },
};

/** Returns a function that adds a grant of a new user, or of the given one, and returns its ID. */
function openGrants({ service, tenant }: ListFixture, user?: { readonly id: string }): () => Promise<string> {
  return async () => {
    const newUser = await createTestUser(service);
    const { id: userId } = user ?? newUser;
    const id = randomUUID();
    await service.database.sql`
      insert into oidc_grants (application_id, id, user_id, sid, scope, method, ip_address, user_agent, authenticated_at,
        rotation, created_at, expires_at)
      select ${tenant.id}, ${id}, ${userId}, ${id}, 1, 'email', '::1', '', created_at, 0, created_at, created_at + interval '1 hour'
      -- By the clock of the service.
      from users where id = ${newUser.id}`;
    return id;
  };
}

/** Returns a function that begins a session of a new user with a single call, and returns the user's ID. */
async function openSignIn({ service, tenant }: ListFixture): Promise<() => Promise<string>> {
  const { auth } = clientsOf(service, tenant);
  const tokens = await AuthTokens.create(PUBLIC_URL, service.config.secrets.authSigningKeys ?? []);
  const { jti = '', iat = 0 } = decodeJwt(await logIn(service, tenant, await createTestUser(service)));
  const login = { loginIntentId: jti, clientId: tenant.clientId, authenticatedAt: new Date(iat * 1_000) };
  return async () => {
    const userId = randomUUID();
    await service.database.sql`
      insert into users (id, email, wallet_address, created_at) values (${userId}, ${userId}, ${userId}, '2000-01-01')`;
    await auth.exchangeToken({ authToken: await tokens.mint({ ...login, userId, method: 'page', assurance: 1 }) });
    return userId;
  };
}

/** Returns a new user, who signs in to a new application for each item. */
async function openUser({ service }: ListFixture): Promise<OpenList> {
  const { id: userId } = await createTestUser(service);
  const tokens = await AuthTokens.create(PUBLIC_URL, service.config.secrets.authSigningKeys ?? []);
  const add = async () => {
    const tenant = await createTenant(service);
    const { jti = '', iat = 0 } = decodeJwt(await logIn(service, tenant, { id: userId }));
    const login = { loginIntentId: jti, clientId: tenant.clientId, authenticatedAt: new Date(iat * 1_000) };
    const authToken = await tokens.mint({ ...login, userId, method: 'page', assurance: 1 });
    await clientsOf(service, tenant).auth.exchangeToken({ authToken });
    return tenant.id;
  };
  return { fields: { userId }, add };
}

/** The operations that answer in pages. */
export const LIST_OPERATIONS: readonly Operation[] = OPERATIONS.filter(({ method }) => method.input.field.pageToken);

/** @throws where the operation has no row. */
export function listOf({ parent, name }: DescMethodUnary): List {
  const list = LISTS[`${parent.name}/${name}`];
  if (!list) throw new Error(`add a row for ${parent.name}/${name} to test/support/lists.ts`);
  return list;
}
