/** A valid request of every operation, for tests that go over all of them. */
import { randomUUID } from 'node:crypto';
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import type { Operation } from '../../src/api/catalogue.ts';
import { refusal } from './answers.ts';
import type { Answer } from './protocols.ts';
import {
  ADMIN_KEY,
  beginLogin,
  beginSession,
  clientsOf,
  createTenant,
  createTestEvent,
  createTestUser,
  createTestWebhook,
  logIn,
  REDIRECT_URI,
  type Tenant,
} from './service.ts';

export interface SampleFixture {
  readonly service: { readonly url: string };
  /** Owns everything the request is about. */
  readonly tenant: Tenant;
}

export interface Sample {
  /** Returns every required field, about things that are new each time. */
  required(fixture: SampleFixture): JsonObject | Promise<JsonObject>;
  readonly optional?: JsonObject;
  /** The answer to another application; absent where the request names nothing of an application's own. */
  readonly toOthers?: Answer;
}

const EVENT_NOT_FOUND = refusal('not_found', 'Event not found');
const WEBHOOK_NOT_FOUND = refusal('not_found', 'Webhook not found');

const SAMPLES: Readonly<Record<string, Sample>> = {
  'AuthService/GenerateAuthUrl': {
    required: ({ tenant: { clientId } }) => ({ clientId, redirectUri: REDIRECT_URI, state: awkward('state') }),
    toOthers: refusal('invalid_argument', 'Client ID mismatch'),
  },
  'AuthService/ExchangeToken': {
    required: async ({ service, tenant }) => ({
      authToken: await logIn(service, tenant, await createTestUser(service)),
    }),
    toOthers: refusal('unauthenticated', 'Invalid or expired token'),
  },

  'SessionService/CheckSession': { required: ownSession, optional: { maxStalenessMs: 0 } },
  'SessionService/RenewSession': { required: ownSession, toOthers: refusal('unauthenticated', 'Session expired') },
  'SessionService/ListSessions': { required: () => ({}), optional: { pageSize: 1 } },
  'UserService/GetUser': {
    required: async ({ service, tenant }) => ({ userId: await signedInUser(service, tenant) }),
    toOthers: refusal('not_found', 'User not found'),
  },
  'UserService/ListUsers': { required: () => ({}), optional: { pageSize: 1 } },
  'SessionService/RevokeSession': { required: ownSession },
  'SessionService/RevokeUserSessions': {
    required: async ({ service, tenant }) => ({ userId: await signedInUser(service, tenant) }),
  },

  'WebhookService/GetWebhook': {
    required: async ({ service, tenant }) => ({ webhookId: (await createTestWebhook(service, tenant)).webhookId }),
    toOthers: WEBHOOK_NOT_FOUND,
  },
  'WebhookService/CreateWebhook': {
    required: async ({ service }) => ({
      url: `https://hooks.test/${randomUUID()}`,
      ownerId: (await createTestUser(service)).id,
    }),
    optional: { eventTypes: ['*'], ordered: true, description: 'Zoë\u2019s "hook"', isActive: true },
  },
  'WebhookService/ListWebhooks': {
    required: async ({ service, tenant }) => {
      for (let count = 0; count < 2; count++) await createTestWebhook(service, tenant);
      return {};
    },
    optional: { pageSize: 1 },
  },
  'WebhookService/UpdateWebhook': {
    required: webhookOf,
    optional: { url: 'https://hooks.test/new', eventTypes: ['event.created'], isActive: false, description: 'New' },
    toOthers: WEBHOOK_NOT_FOUND,
  },
  'WebhookService/DeleteWebhook': { required: webhookOf, toOthers: WEBHOOK_NOT_FOUND },
  'WebhookService/RotateSigningKey': {
    required: webhookOf,
    optional: { overlapSeconds: 60 },
    toOthers: WEBHOOK_NOT_FOUND,
  },
  'WebhookService/SendTestMessage': { required: webhookOf, toOthers: WEBHOOK_NOT_FOUND },
  'WebhookService/ListDeliveries': {
    required: async (fixture) => ({ webhookId: (await deliveryOf(fixture)).webhookId }),
    optional: { pageSize: 1, status: 'pending', since: '2026-01-01T00:00:00Z' },
    toOthers: WEBHOOK_NOT_FOUND,
  },
  'WebhookService/GetDelivery': { required: deliveryOf, toOthers: WEBHOOK_NOT_FOUND },
  'WebhookService/Redeliver': { required: deliveryOf, toOthers: WEBHOOK_NOT_FOUND },
  'WebhookService/RedeliverFailed': {
    required: async (fixture) => ({ ...(await webhookOf(fixture)), since: new Date().toISOString() }),
    toOthers: WEBHOOK_NOT_FOUND,
  },

  'EventService/CreateEvent': {
    required: () => ({ eventId: awkward('event') }),
    optional: { name: 'Sommerfest – Zürich & "mehr"' },
  },
  'EventService/GetEvent': {
    required: async ({ service, tenant }) => ({ eventId: await createTestEvent(service, tenant, awkward('event')) }),
    toOthers: EVENT_NOT_FOUND,
  },
  'EventService/ListEvents': {
    required: async ({ service, tenant }) => {
      for (let count = 0; count < 2; count++) await createTestEvent(service, tenant);
      return {};
    },
    optional: { pageSize: 1 },
  },
  'EventService/CheckIn': {
    required: async ({ service, tenant }) => ({
      eventId: await createTestEvent(service, tenant),
      attendeeId: awkward('attendee'),
    }),
    toOthers: EVENT_NOT_FOUND,
  },
  'EventService/ListCheckIns': {
    required: async ({ service, tenant }) => {
      const eventId = await createTestEvent(service, tenant, awkward('event'));
      for (const attendeeId of ['ada', 'grace'])
        await clientsOf(service, tenant).events.checkIn({ eventId, attendeeId });
      return { eventId };
    },
    optional: { pageSize: 1 },
    toOthers: EVENT_NOT_FOUND,
  },
  'EventService/UndoCheckIn': {
    required: async ({ service, tenant }) => {
      const fields = { eventId: await createTestEvent(service, tenant), attendeeId: awkward('attendee') };
      await clientsOf(service, tenant).events.checkIn(fields);
      return fields;
    },
    toOthers: EVENT_NOT_FOUND,
  },
  'EventService/DeleteEvent': {
    required: async ({ service, tenant }) => ({ eventId: await createTestEvent(service, tenant, awkward('event')) }),
    toOthers: EVENT_NOT_FOUND,
  },

  'AdminService/CreateApplication': {
    required: () => ({ name: awkward('application'), redirectUris: [REDIRECT_URI] }),
  },
  'AdminService/GetApplication': {
    required: async ({ service }) => ({ applicationId: (await createTenant(service)).id }),
  },
  'AdminService/ListApplications': {
    required: async ({ service }) => {
      await createTenant(service);
      return {};
    },
    optional: { pageSize: 1 },
  },
  'AdminService/UpdateApplication': {
    required: async ({ service }) => ({ applicationId: (await createTenant(service)).id }),
    optional: {
      name: 'Läden & "more"',
      redirectUris: [REDIRECT_URI],
      allowSignUp: true,
      askName: true,
      sessionMaxAgeSeconds: 3600,
    },
  },
  'AdminService/DeleteApplication': {
    required: async ({ service }) => ({ applicationId: (await createTenant(service)).id }),
  },
  'AdminService/CreateApiKey': {
    required: async ({ service }) => ({ applicationId: (await createTenant(service)).id }),
    optional: { name: 'Kasse – "2"', expiresAt: '2100-01-01T00:00:00Z' },
  },
  'AdminService/ListApiKeys': {
    required: async ({ service }) => ({ applicationId: (await createTenant(service)).id }),
    optional: { pageSize: 1 },
  },
  'AdminService/RotateApiKey': {
    required: async ({ service }) => ({ apiKeyId: (await createTenant(service)).apiKeyId }),
    optional: { overlapSeconds: 60 },
  },
  'AdminService/RevokeApiKey': {
    required: async ({ service }) => ({ apiKeyId: (await createTenant(service)).apiKeyId }),
  },
  'AdminService/CreateUser': {
    required: () => ({ email: `${randomUUID()}@example.com` }),
    get optional() {
      const walletAddress = awkward('wallet');
      return { name: 'Ada "ü" Lovelace', profileImage: 'https://img.test/ada.png?size=1', walletAddress };
    },
  },
  'AdminService/GetUser': { required: newUser },
  'AdminService/ListUsers': { required: () => ({}), optional: { pageSize: 1 } },
  'AdminService/UpdateUser': { required: newUser, optional: { name: 'Grace "ü" Hopper' } },
  'AdminService/DeactivateUser': { required: newUser },
  'AdminService/ReactivateUser': { required: newUser },
  'AdminService/EraseUser': { required: newUser },
  'AdminService/DeleteUser': {
    required: async ({ service }) => ({ userId: (await createTestUser(service)).id }),
  },
  'AdminService/CompleteLogin': {
    required: async ({ service, tenant }) => ({
      loginIntentId: await beginLogin(service, tenant),
      userId: (await createTestUser(service)).id,
    }),
  },
  'AdminService/ListAuditEvents': {
    required: async ({ service }) => {
      await createTenant(service);
      return {};
    },
    optional: { pageSize: 1 },
  },
  'AdminService/GetLoginIntent': {
    required: async ({ service, tenant }) => ({ loginIntentId: await beginLogin(service, tenant) }),
  },
  'AdminService/CancelLogin': {
    required: async ({ service, tenant }) => ({ loginIntentId: await beginLogin(service, tenant) }),
  },
};

async function webhookOf({ service, tenant }: SampleFixture): Promise<{ webhookId: string }> {
  return { webhookId: (await createTestWebhook(service, tenant)).webhookId };
}

async function deliveryOf(fixture: SampleFixture): Promise<{ webhookId: string; messageId: string }> {
  const { webhookId } = await webhookOf(fixture);
  const { messageId } = await clientsOf(fixture.service, fixture.tenant).webhooks.sendTestMessage({ webhookId });
  return { webhookId, messageId };
}

/** @throws where the operation has no sample. */
export function sampleOf(method: DescMethodUnary): Sample {
  const name = `${method.parent.name}/${method.name}`;
  const sample = SAMPLES[name];
  if (!sample) throw new Error(`add a sample for ${name} to test/support/samples.ts`);
  return sample;
}

/** Returns a request with every field. */
export async function sampleFields(method: DescMethodUnary, fixture: SampleFixture): Promise<JsonObject> {
  const { required, optional } = sampleOf(method);
  return { ...(await required(fixture)), ...optional };
}

/** Returns the header with the credential that the operation takes. */
export function credentialFor({ credential }: Operation, { apiKey }: Pick<Tenant, 'apiKey'>): Record<string, string> {
  return credential === 'adminKey' ? { 'x-admin-key': ADMIN_KEY } : { 'x-api-key': apiKey };
}

/** Returns a value that is like no other and that most encodings escape. */
function awkward(name: string): string {
  return `${name}+${randomUUID()}/ü?&="`;
}

async function ownSession({ service, tenant }: SampleFixture): Promise<JsonObject> {
  return { sessionId: await beginSession(service, tenant, await createTestUser(service)) };
}

async function newUser({ service }: SampleFixture): Promise<JsonObject> {
  return { userId: (await createTestUser(service)).id };
}

async function signedInUser(service: SampleFixture['service'], tenant: Tenant): Promise<string> {
  const user = await createTestUser(service);
  await beginSession(service, tenant, user);
  return user.id;
}
