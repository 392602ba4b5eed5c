/** Interface, "Authentication": who gets in, whatever the protocol and the state of the body. */
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { generateApiKey } from '../../src/domain/api-keys/api-key.ts';
import { refusal } from '../support/answers.ts';
import { type Answer, CALLERS } from '../support/callers.ts';
import { frame } from '../support/rpc-wire.ts';
import {
  ADMIN_KEY,
  adminClient,
  clientsOf,
  createTenant,
  createTestEvent,
  createTestUser,
  logIn,
  REDIRECT_URI,
  startTestService,
  type Tenant,
  type TestService,
} from '../support/service.ts';
import { carries, failureOf, RPC_WIRES, sendOver, WIRES, type Wire } from '../support/wire.ts';

const { generateAuthUrl, exchangeToken } = AuthService.method;
const { getWebhook, createWebhook } = WebhookService.method;
const { deleteEvent, createEvent, checkIn } = EventService.method;
const UNKNOWN_UUID = '00000000-0000-4000-8000-000000000000';

/** Every RPC that takes an API key, with fields that are in order, and what it says with a good one. */
const APPLICATION_CALLS: readonly [DescMethodUnary, JsonObject, Answer][] = [
  [
    generateAuthUrl,
    { clientId: 'client', redirectUri: REDIRECT_URI, state: 'state' },
    refusal('invalid_argument', 'Client ID mismatch'),
  ],
  [exchangeToken, { authToken: 'token' }, refusal('unauthenticated', 'Invalid or expired token')],
  [getWebhook, { webhookId: `wh_${'0'.repeat(32)}` }, refusal('not_found', 'Webhook not found')],
  [createWebhook, { url: 'https://hooks.test', ownerId: UNKNOWN_UUID }, refusal('not_found', 'User not found')],
  [deleteEvent, { eventId: 'deleted' }, refusal('not_found', 'Event not found')],
  [createEvent, { eventId: 'deleted' }, refusal('already_exists', 'Event already exists')],
  [checkIn, { eventId: 'deleted', attendeeId: 'ada' }, refusal('not_found', 'Event not found')],
];

/** Every RPC that takes the admin key, with fields that are in order. */
const ADMIN_CALLS: readonly [DescMethodUnary, JsonObject][] = [
  [AdminService.method.createApplication, { name: 'Application', redirectUris: [REDIRECT_URI] }],
  [AdminService.method.deleteApplication, { applicationId: UNKNOWN_UUID }],
  [AdminService.method.createApiKey, { applicationId: UNKNOWN_UUID }],
  [AdminService.method.revokeApiKey, { apiKeyId: UNKNOWN_UUID }],
  [AdminService.method.createUser, { email: 'ada@example.com', walletAddress: '0x1' }],
  [AdminService.method.deleteUser, { userId: UNKNOWN_UUID }],
  [AdminService.method.completeLogin, { loginIntentId: UNKNOWN_UUID, userId: UNKNOWN_UUID }],
];

let service: TestService;
let tenant: Tenant;
let other: Tenant;
let deletedTenant: Tenant;
let revokedKey: string;
let revokedKeyOfDeleted: string;

beforeAll(async () => {
  service = await startTestService();
  tenant = await createTenant(service);
  other = await createTenant(service, { name: 'Other' });
  deletedTenant = await createTenant(service, { name: 'Deleted' });
  revokedKey = await createRevokedKey(tenant);
  revokedKeyOfDeleted = await createRevokedKey(deletedTenant);
  await adminClient(service).deleteApplication({ applicationId: deletedTenant.id });
  const { events } = clientsOf(service, tenant);
  await events.createEvent({ eventId: 'deleted' });
  await events.deleteEvent({ eventId: 'deleted' });
});

afterAll(() => service.close());

async function createRevokedKey({ id }: Tenant): Promise<string> {
  const admin = adminClient(service);
  const { apiKeyId, apiKey } = await admin.createApiKey({ applicationId: id });
  await admin.revokeApiKey({ apiKeyId });
  return apiKey;
}

/** The key with one character changed for another of the same kind. */
function mistype(key: string, index: number): string {
  const character = key.at(index) === 'x' ? 'y' : 'x';
  return key.slice(0, index) + character + (index === -1 ? '' : key.slice(index + 1));
}

const BAD_API_KEYS: readonly [string, () => Record<string, string>][] = [
  ['is missing', () => ({})],
  ['is empty', () => ({ 'x-api-key': '' })],
  ['is mistyped at its end', () => ({ 'x-api-key': mistype(tenant.apiKey, -1) })],
  ['is mistyped in its middle', () => ({ 'x-api-key': mistype(tenant.apiKey, 20) })],
  ['is mistyped in its prefix', () => ({ 'x-api-key': tenant.apiKey.replace('usk_', 'usq_') })],
  ['is cut short', () => ({ 'x-api-key': tenant.apiKey.slice(0, -1) })],
  ['is too long', () => ({ 'x-api-key': `${tenant.apiKey}0` })],
  ['is there twice', () => ({ 'x-api-key': `${tenant.apiKey}, ${tenant.apiKey}` })],
  ['is unknown', () => ({ 'x-api-key': generateApiKey() })],
  ['has been revoked', () => ({ 'x-api-key': revokedKey })],
  ['of a deleted application has been revoked', () => ({ 'x-api-key': revokedKeyOfDeleted })],
  ['is the ID of a key', () => ({ 'x-api-key': tenant.apiKeyId })],
  ['is the admin key', () => ({ 'x-api-key': ADMIN_KEY })],
  ['is in another header', () => ({ authorization: `Bearer ${tenant.apiKey}` })],
  ['is in the header of the admin key', () => ({ 'x-admin-key': tenant.apiKey })],
  ['is missing beside the admin key', () => ({ 'x-admin-key': ADMIN_KEY })],
];

describe.each(CALLERS)('The API key, $name', (caller) => {
  const calls = APPLICATION_CALLS.filter(([method]) => caller.supports(method));

  describe.each(BAD_API_KEYS)('401 Invalid API key when it %s', (_, headersOf) => {
    it.each(calls.map(([method, fields]) => [method.name, method, fields] as const))(
      'for %s',
      async (_, method, fields) => {
        const answer = await caller.call(service.url, method, fields, headersOf());
        expect(answer).toEqual(refusal('unauthenticated', 'Invalid API key'));
      },
    );
  });

  it.each(calls.map(([method, fields]) => [method.name, method, fields] as const))(
    '401 for %s when the application has been deleted',
    async (_, method, fields) => {
      const answer = await caller.call(service.url, method, fields, { 'x-api-key': deletedTenant.apiKey });
      const message = method === deleteEvent ? 'Application not found' : 'Invalid API key';
      expect(answer).toEqual(refusal('unauthenticated', message));
    },
  );

  it.each(calls.map(([method, fields, expected]) => [method.name, method, fields, expected] as const))(
    'lets %s in when it is right',
    async (_, method, fields, expected) => {
      const answer = await caller.call(service.url, method, fields, { 'x-api-key': tenant.apiKey });
      expect(answer).toEqual(expected);
    },
  );
});

describe.each(CALLERS)('The data of another application, $name', (caller) => {
  const attempts: [string, DescMethodUnary, () => Promise<JsonObject>, string, string][] = [
    ['the client ID', generateAuthUrl, foreignLogin, 'invalid_argument', 'Client ID mismatch'],
    ['an auth token', exchangeToken, foreignToken, 'unauthenticated', 'Invalid or expired token'],
    ['a webhook', getWebhook, foreignWebhook, 'not_found', 'Webhook not found'],
    ['an event to delete', deleteEvent, foreignEvent, 'not_found', 'Event not found'],
    ['an event to check in to', checkIn, foreignCheckIn, 'not_found', 'Event not found'],
  ];

  it.each(attempts.filter(([, method]) => caller.supports(method)))(
    'is out of reach, be it %s',
    async (_, method, fieldsOf, code, message) => {
      const fields = await fieldsOf();
      const answer = await caller.call(service.url, method, fields, { 'x-api-key': tenant.apiKey });
      expect(answer).toEqual(refusal(code, message));
      const own = await caller.call(service.url, method, fields, { 'x-api-key': other.apiKey });
      expect(own).toMatchObject({ code: 'ok' });
    },
  );
});

async function foreignLogin(): Promise<JsonObject> {
  return { clientId: other.clientId, redirectUri: REDIRECT_URI, state: 'state' };
}

async function foreignToken(): Promise<JsonObject> {
  return { authToken: await logIn(service, other, await createTestUser(service)) };
}

async function foreignWebhook(): Promise<JsonObject> {
  const { id } = await createTestUser(service);
  const { webhook } = await clientsOf(service, other).webhooks.createWebhook({
    url: 'https://hooks.test',
    ownerId: id,
  });
  return { webhookId: webhook?.webhookId ?? '' };
}

async function foreignEvent(): Promise<JsonObject> {
  return { eventId: await createTestEvent(service, other) };
}

async function foreignCheckIn(): Promise<JsonObject> {
  return { ...(await foreignEvent()), attendeeId: 'ada' };
}

/** Bodies that cannot be read, as the wire would carry them. */
function brokenBodiesOf({ contentType, protocol }: Wire): [string, Uint8Array, Record<string, string>][] {
  const malformed = contentType === 'application/json' ? Buffer.from('{"state":') : Buffer.from([0x0a, 0xff]);
  const oversize = Buffer.alloc(200_000, 0x20);
  if (protocol === 'connect' || protocol === 'rest') {
    return [
      ['malformed', malformed, {}],
      ['oversize', oversize, {}],
      ['not compressed as it says', malformed, { 'content-encoding': 'gzip' }],
      ['compressed in a way nobody knows', malformed, { 'content-encoding': 'none-such' }],
    ];
  }
  const compressed = frame(malformed, { flags: 1 });
  return [
    ['malformed', frame(malformed), {}],
    ['a truncated frame', frame(Buffer.alloc(100)).subarray(0, 20), {}],
    ['a truncated head of a frame', Buffer.from([0, 0, 0]), {}],
    ['empty', Buffer.alloc(0), {}],
    ['oversize', frame(oversize), {}],
    ['not compressed as it says', compressed, { 'grpc-encoding': 'gzip' }],
    ['compressed in a way nobody knows', compressed, { 'grpc-encoding': 'none-such' }],
  ];
}

describe.each(WIRES)('A body without a valid API key, $name', (wire) => {
  const status = wire.protocol === 'rest' || wire.protocol === 'connect' ? 401 : 200;
  const refused = { status, code: 'Unauthenticated', message: 'Invalid API key', fields: [] };
  const calls = APPLICATION_CALLS.filter(([method]) => carries(wire, method)).map(
    ([method, fields]) => [method.name, method, fields] as const,
  );

  describe.each(brokenBodiesOf(wire))('is 401 Invalid API key when it is %s', (_, body, headers) => {
    it.each(calls)('for %s', async (_, method, fields) => {
      const call = { method, fields, body, headers: { ...headers, 'x-api-key': generateApiKey() } };
      expect(failureOf(wire, await sendOver(wire, service.url, call))).toEqual(refused);
    });
  });

  it.each(calls)('is not waited for, for %s', async (_, method, fields) => {
    const reply = await sendOver(wire, service.url, { method, fields, isBodyPending: true });
    expect(failureOf(wire, reply)).toEqual(refused);
  });

  it.each(brokenBodiesOf(wire))('would be refused with one, too, when it is %s', async (_, body, headers) => {
    const call = { method: exchangeToken, body, headers: { ...headers, 'x-api-key': tenant.apiKey } };
    const reply = await sendOver(wire, service.url, call);
    expect(failureOf(wire, reply).message).not.toBe('Invalid API key');
  });
});

describe.each(RPC_WIRES)('A body without the admin key, $name', (wire) => {
  const status = wire.protocol === 'connect' ? 401 : 200;
  const calls = ADMIN_CALLS.map(([method]) => [method.name, method] as const);

  describe.each(brokenBodiesOf(wire))('is Invalid admin key when it is %s', (_, body, headers) => {
    it.each(calls)('for %s', async (_, method) => {
      const reply = await sendOver(wire, service.url, { method, body, headers });
      expect(failureOf(wire, reply)).toEqual({
        status,
        code: 'Unauthenticated',
        message: 'Invalid admin key',
        fields: [],
      });
    });
  });
});

describe.each(CALLERS.filter(({ isRest }) => !isRest))('The admin key, $name', (caller) => {
  const calls = ADMIN_CALLS.map(([method, fields]) => [method.name, method, fields] as const);

  describe.each<[string, () => Record<string, string>]>([
    ['is missing', () => ({})],
    ['is empty', () => ({ 'x-admin-key': '' })],
    ['is wrong', () => ({ 'x-admin-key': 'not-the-admin-key-for-tests-of-sufficient-length' })],
    ['is cut short', () => ({ 'x-admin-key': ADMIN_KEY.slice(0, -1) })],
    ['is too long', () => ({ 'x-admin-key': `${ADMIN_KEY}h` })],
    ['differs in case', () => ({ 'x-admin-key': ADMIN_KEY.toUpperCase() })],
    ['is an API key', () => ({ 'x-admin-key': tenant.apiKey })],
    ['is in the header of the API key', () => ({ 'x-api-key': ADMIN_KEY })],
    ['is missing beside an API key', () => ({ 'x-api-key': tenant.apiKey })],
  ])('Invalid admin key when it %s', (_, headersOf) => {
    it.each(calls)('for %s', async (_, method, fields) => {
      const answer = await caller.call(service.url, method, fields, headersOf());
      expect(answer).toEqual(refusal('unauthenticated', 'Invalid admin key'));
    });
  });

  it.each(calls)('is told to be wrong before the fields, for %s', async (_, method) => {
    const answer = await caller.call(service.url, method, {}, {});
    expect(answer).toEqual(refusal('unauthenticated', 'Invalid admin key'));
  });

  it.each(calls)('lets %s in when it is right', async (_, method) => {
    const answer = await caller.call(service.url, method, {}, { 'x-admin-key': ADMIN_KEY });
    expect(answer).toMatchObject({ code: 'invalid_argument', message: 'Validation failed' });
  });
});
