/** A valid request of every operation, for tests that go over all of them: the example of the API reference. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { DescMethodUnary, JsonObject, JsonValue } from '@bufbuild/protobuf';
import examples from '../../proto/examples.json' with { type: 'json' };
import type { Operation } from '../../src/api/catalogue.ts';
import { refusal, success } from './answers.ts';
import { HOUR } from './clock.ts';
import type { TestDatabase } from './database.ts';
import type { Answer } from './protocols.ts';
import { refuseSignIn } from './restricted-access.ts';
import {
  ADMIN_KEY,
  adminClient,
  beginSession,
  clientsOf,
  createLoginIntent,
  createTenant,
  createTestEvent,
  createTestGroup,
  createTestUser,
  createTestWebhook,
  logIn,
  newGroupName,
  REDIRECT_URI,
  type Tenant,
} from './service.ts';

interface Example {
  readonly required?: JsonObject;
  readonly optional?: JsonObject;
}

export type Variable = keyof typeof examples.variables;

export interface SampleFixture {
  readonly service: { readonly url: string; readonly database: Pick<TestDatabase, 'sql'> };
  /** Owns everything the request is about. */
  readonly tenant: Tenant;
  /** Whether IDs are plain, for a request that a person writes. Otherwise most encodings escape them. */
  readonly isPlain?: boolean;
  /** Makes the IDs that callers choose the same for every request with this text. */
  readonly idSuffix?: string;
  /** The user that the request is about, or whose session it is about. Otherwise a new one. */
  readonly user?: { readonly id: string };
}

/** Makes the values of an example's variables, which are new for each request. */
export class SampleValues {
  readonly fixture: SampleFixture;
  readonly #made = new Map<Variable, string | Promise<string>>();

  constructor(fixture: SampleFixture) {
    this.fixture = fixture;
  }

  async get(variable: Variable): Promise<string> {
    const made = this.#made.get(variable) ?? MAKE[variable](this, this.fixture);
    this.#made.set(variable, made);
    return made;
  }
}

const MAKE: Readonly<Record<Variable, (values: SampleValues, fixture: SampleFixture) => string | Promise<string>>> = {
  CLIENT_ID: (_, { tenant }) => tenant.clientId,
  REDIRECT_URI: () => REDIRECT_URI,
  STATE: (_, fixture) => newId('state', fixture),
  AUTH_TOKEN: async (_, { service, tenant, user }) => logIn(service, tenant, user ?? (await createTestUser(service))),
  SESSION_ID: async (_, { service, tenant, user }) =>
    beginSession(service, tenant, user ?? (await createTestUser(service))),
  ACCESS_TOKEN: () => `uat_${randomBytes(62).toString('base64url')}`,
  USER_ID: async (_, { service, user }) => (user ?? (await createTestUser(service))).id,
  OTHER_USER_ID: async (_, { service, user }) => (user ?? (await createTestUser(service))).id,
  OWNER_ID: async (_, { service, tenant }) => (await createTestUser(service, { applicationIds: [tenant.id] })).id,
  WEBHOOK_ID: async (_, { service, tenant }) => (await createTestWebhook(service, tenant)).webhookId,
  OTHER_WEBHOOK_ID: async (_, { service, tenant }) => (await createTestWebhook(service, tenant)).webhookId,
  MESSAGE_ID: async (values, { service, tenant }) => {
    const webhookId = await values.get('WEBHOOK_ID');
    return (await clientsOf(service, tenant).webhooks.sendTestMessage({ webhookId })).messageId;
  },
  SINCE: () => new Date().toISOString(),
  EVENT_ID: (_, fixture) => createTestEvent(fixture.service, fixture.tenant, newId('event', fixture)),
  OTHER_EVENT_ID: (_, fixture) => createTestEvent(fixture.service, fixture.tenant, newId('event', fixture)),
  NEW_EVENT_ID: (_, fixture) => newId('event', fixture),
  ATTENDEE_ID: (_, fixture) => newId('attendee', fixture),
  APPLICATION_ID: async (_, { service }) => (await createTenant(service)).id,
  OTHER_APPLICATION_ID: async (_, { service }) => (await createTenant(service)).id,
  API_KEY_ID: async (_, { service }) => (await createTenant(service)).apiKeyId,
  INVITATION_ID: (_, { service, tenant }) => invite(service, tenant),
  INVITED_EMAIL: () => `${randomUUID()}@example.com`,
  NEW_EMAIL: () => `${randomUUID()}@example.com`,
  EXTERNAL_ID: (_, fixture) => newId('external', fixture),
  RESOURCE_URI: () => `https://mcp-${randomUUID()}.example.com/`,
  WALLET_ADDRESS: (_, fixture) => newId('wallet', fixture),
  LOGIN_INTENT_ID: (_, { service, tenant }) => createLoginIntent(service, tenant),
  GRANT_ID: () => randomUUID(),
  GROUP_ID: async (_, { service }) => (await createTestGroup(service)).groupId,
  OTHER_GROUP_ID: async (_, { service }) => (await createTestGroup(service)).groupId,
  NEW_GROUP_NAME: () => newGroupName(),
  RECOVERY_LINK_ID: async (values, { service }) => insertRecoveryLink(service.database, await values.get('USER_ID')),
  PASSKEY_ID: async (values, { service }) => insertPasskey(service.database, await values.get('USER_ID')),
};

/** What must be so before the request, beyond that its variables name what exists. */
const PREPARE: Readonly<Record<string, (values: SampleValues, fixture: SampleFixture) => Promise<unknown>>> = {
  'UserService/GetUser': signIn,
  'SessionService/RevokeUserSessions': signIn,
  'SessionService/ListSessions': signIn,
  'UserService/ListUsers': signIn,
  'UserService/BatchGetUsers': signIn,
  'UserService/InviteUser': (_, { service, tenant }) =>
    adminClient(service).updateApplication({ applicationId: tenant.id, allowInvitations: true }),
  'UserService/ListInvitations': (_, { service, tenant }) => twice(() => invite(service, tenant)),
  'WebhookService/ListWebhooks': (_, { service, tenant }) => twice(() => createTestWebhook(service, tenant)),
  'WebhookService/ListDeliveries': (values) => values.get('MESSAGE_ID'),
  'EventService/ListEvents': (_, { service, tenant }) => twice(() => createTestEvent(service, tenant)),
  'EventService/ListCheckIns': async (values) => {
    for (const name of ['first', 'second']) await checkIn(values, newId(name, values.fixture));
  },
  'MessageService/ListMessages': (_, { service, tenant }) =>
    adminClient(service).updateApplication({ applicationId: tenant.id, messageFeed: true }),
  'EventService/ListAttendees': async (values, { service, tenant }) => {
    const attendees = ['first', 'second'].map((attendeeId) => ({ attendeeId }));
    await clientsOf(service, tenant).events.batchPutAttendees({ eventId: await values.get('EVENT_ID'), attendees });
  },
  'EventService/DeleteAttendees': async (values, { service, tenant }) => {
    const attendees = [{ attendeeId: 'ticket-4711' }];
    await clientsOf(service, tenant).events.batchPutAttendees({ eventId: await values.get('EVENT_ID'), attendees });
  },
  'EventService/UndoCheckIn': async (values) => checkIn(values, await values.get('ATTENDEE_ID')),
  'AdminService/RemoveApplicationUser': async (values, { service }) =>
    adminClient(service).addApplicationUser({
      applicationId: await values.get('APPLICATION_ID'),
      userId: await values.get('USER_ID'),
    }),
  'AdminService/ListGroups': (_, { service }) => twice(() => createTestGroup(service)),
  'AdminService/RemoveGroupMember': addToGroup,
  'AdminService/ListGroupMembers': async (values, { service }) => {
    const groupId = await values.get('GROUP_ID');
    await twice(async () =>
      adminClient(service).addGroupMember({ groupId, userId: (await createTestUser(service)).id }),
    );
  },
  'AdminService/ListUserGroups': async (values, { service }) => {
    const userId = await values.get('USER_ID');
    await twice(async () =>
      adminClient(service).addGroupMember({ groupId: (await createTestGroup(service)).groupId, userId }),
    );
  },
  'AdminService/ListApplicationGroups': async (values, { service }) =>
    adminClient(service).setGroupAccess({
      groupId: (await createTestGroup(service)).groupId,
      applicationId: await values.get('APPLICATION_ID'),
      inClaim: true,
    }),
  'AdminService/ListRecoveryLinks': async (values, { service }) => {
    const userId = await values.get('USER_ID');
    await twice(() => insertRecoveryLink(service.database, userId, 'REVOKED'));
  },
  'AdminService/ListUserSessions': signIn,
  'AdminService/ListUserApplications': signIn,
  'AdminService/ListApplications': (_, { service }) => createTenant(service),
  'AdminService/ListAuditEvents': (_, { service }) => createTenant(service),
  'AdminService/ListSignInAttempts': async (values, { service, tenant }) => {
    const id = await values.get('USER_ID');
    await twice(() => refuseSignIn(service, tenant, { id }));
  },
};

/** The answers to another application, of operations that name no event and no webhook. */
const TO_OTHERS: Readonly<Record<string, Answer>> = {
  'AuthService/GenerateAuthUrl': refusal('invalid_argument', 'Client ID mismatch'),
  'AuthService/ExchangeToken': refusal('unauthenticated', 'Invalid or expired token'),
  'SessionService/CheckSession': success({ active: false }, 'Session checked successfully'),
  'SessionService/RenewSession': refusal('unauthenticated', 'Session expired'),
  // It succeeds as for one that has ended.
  'SessionService/RevokeSession': success(undefined, 'Session revoked successfully'),
  // It succeeds as for one that does not exist.
  'SessionService/EndGrant': success(undefined, 'Grant ended successfully'),
  'TokenService/IntrospectToken': success({ active: false }, 'Token introspected successfully'),
  'WebhookService/CreateWebhook': refusal('not_found', 'User not found'),
  'UserService/GetUser': refusal('not_found', 'User not found'),
  'UserService/RevokeInvitation': refusal('not_found', 'Invitation not found'),
  'UserService/BatchGetUsers': success({ users: [] }, 'Users retrieved successfully'),
};

/** Returns the example of an operation, with variables such as `$EVENT_ID`. */
export function exampleOf(method: DescMethodUnary): Example {
  const operations: Readonly<Record<string, Example>> = examples.operations;
  return operations[nameOf(method)] ?? {};
}

/** Returns the answer to another application; undefined where the request names nothing of an application's own. */
export function answerToOthers(method: DescMethodUnary): Answer | undefined {
  const named = Object.values(exampleOf(method).required ?? {});
  if (named.some((value) => /EVENT_ID$/.test(String(value)) && value !== '$NEW_EVENT_ID'))
    return refusal('not_found', 'Event not found');
  if (named.some((value) => /WEBHOOK_ID$/.test(String(value)))) return refusal('not_found', 'Webhook not found');
  return TO_OTHERS[nameOf(method)];
}

/** Returns a request with every field. Of a list, it asks for less than there is. */
export async function sampleFields(method: DescMethodUnary, fixture: SampleFixture): Promise<JsonObject> {
  const { required, optional } = exampleOf(method);
  const isList = optional !== undefined && 'pageSize' in optional;
  return fill(method, { ...required, ...optional, ...(isList && { pageSize: 1 }) }, fixture);
}

/** Makes ready what the example of the operation needs. */
export async function prepareSample(method: DescMethodUnary, values: SampleValues): Promise<void> {
  await PREPARE[nameOf(method)]?.(values, values.fixture);
}

/** Returns the header with the credential that the operation takes. */
export function credentialFor({ credential }: Operation, { apiKey }: Pick<Tenant, 'apiKey'>): Record<string, string> {
  return credential === 'adminKey' ? { 'x-admin-key': ADMIN_KEY } : { 'x-api-key': apiKey };
}

/** Returns the fields with values in the place of variables. */
async function fill(method: DescMethodUnary, fields: JsonObject, fixture: SampleFixture): Promise<JsonObject> {
  const values = new SampleValues(fixture);
  const filled: Record<string, JsonValue> = {};
  const fillOne = async (value: JsonValue) =>
    typeof value === 'string' && value.startsWith('$') ? values.get(value.slice(1) as Variable) : value;
  for (const [name, value] of Object.entries(fields)) {
    filled[name] = Array.isArray(value) ? await Promise.all(value.map(fillOne)) : await fillOne(value);
  }
  await prepareSample(method, values);
  return filled;
}

function nameOf(method: DescMethodUnary): string {
  return `${method.parent.name}/${method.name}`;
}

/** Returns an ID that is like no other, unless the fixture says otherwise. */
function newId(name: string, { isPlain = false, idSuffix = randomUUID() }: SampleFixture): string {
  return isPlain ? `${name}-${randomBytes(6).toString('hex')}` : `${name}+${idSuffix}/ü?&="`;
}

async function addToGroup(values: SampleValues, { service }: SampleFixture): Promise<void> {
  await adminClient(service).addGroupMember({
    groupId: await values.get('GROUP_ID'),
    userId: await values.get('USER_ID'),
  });
}

async function signIn(values: SampleValues, { service, tenant }: SampleFixture): Promise<void> {
  await beginSession(service, tenant, { id: await values.get('USER_ID') });
}

async function checkIn(values: SampleValues, attendeeId: string): Promise<void> {
  const { service, tenant } = values.fixture;
  await clientsOf(service, tenant).events.checkIn({ eventId: await values.get('EVENT_ID'), attendeeId });
}

/** Returns the ID of an open invitation. */
async function invite(service: { readonly url: string }, { id: applicationId }: Pick<Tenant, 'id'>): Promise<string> {
  const { email } = await createTestUser(service);
  const { invitation } = await adminClient(service).inviteUser({ applicationId, email });
  return invitation?.invitationId ?? '';
}

/** Stores a recovery link, which nobody can use, and returns its ID: an admin key can make 20 a day. */
export async function insertRecoveryLink(
  { sql }: Pick<TestDatabase, 'sql'>,
  userId: string,
  status = 'OPEN',
  now = new Date(),
): Promise<string> {
  const id = randomUUID();
  await sql`
    insert into recovery_links (id, user_id, digest, code_hmac, address_key, removes, created_by, created_at, usable_at,
      expires_at, status, ended_at)
    values (${id}, ${userId}, ${Buffer.from(id)}, '', '', '{PASSKEYS}', 'admin', ${now}, ${now},
      ${new Date(now.getTime() + HOUR)}, ${status}, ${status === 'OPEN' ? null : now})`;
  return id;
}

async function twice(act: () => Promise<unknown>): Promise<void> {
  await act();
  await act();
}

/** Stores a passkey, with which nobody can sign in, and returns its ID. The login page may be without passkeys. */
async function insertPasskey({ sql }: Pick<TestDatabase, 'sql'>, userId: string): Promise<string> {
  const id = randomUUID();
  await sql`
    insert into passkeys (user_id, id, credential_id, rp_id, public_key, sign_count, transports, aaguid,
      is_backup_eligible, is_backed_up, is_user_verified, name, created_at)
    values (${userId}, ${id}, ${Buffer.from(id)}, 'usher.test', '', 0, '{internal}', ${randomUUID()},
      true, true, true, 'Key on the ring', now())`;
  return id;
}
