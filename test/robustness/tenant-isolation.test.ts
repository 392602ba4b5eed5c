/** A resource of another application looks like a missing one: in the reply, byte for byte, and in the time it takes. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { SessionService } from '../../gen/usher/v1/session_pb.ts';
import { UserService } from '../../gen/usher/v1/user_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { OPERATIONS } from '../../src/api/catalogue.ts';
import { AuthTokens } from '../../src/domain/login/auth-tokens.ts';
import { type HttpReply, openHttpClient } from '../support/http.ts';
import { comparable, PROTOCOLS, type Protocol, send, supports, toRequest } from '../support/protocols.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createDeletedUser,
  createTenant,
  createTestEvent,
  createTestUser,
  createTestWebhook,
  logIn,
  logInDeletedUser,
  PUBLIC_URL,
  REDIRECT_URI,
  startTestService,
  type Tenant,
  type TestService,
} from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { compareTimings, measureArea, type Kind as TimedKind } from '../support/timing-comparison.ts';

const { generateAuthUrl, exchangeToken } = AuthService.method;
const { getWebhook, createWebhook, listWebhooks } = WebhookService.method;
const { updateWebhook, deleteWebhook, rotateSigningKey, sendTestMessage } = WebhookService.method;
const { listDeliveries, getDelivery, redeliver, redeliverFailed } = WebhookService.method;
const { checkSession, renewSession, listSessions, revokeSession, revokeUserSessions } = SessionService.method;
const { getUser, listUsers } = UserService.method;
const { deleteEvent, createEvent, getEvent, listEvents, checkIn, listCheckIns, undoCheckIn } = EventService.method;

/** A fixed time, so that timestamps in replies are the same. */
const NOW = new Date();
const KINDS = ['own', 'foreign', 'missing', 'deleted', 'malformed'] as const;
type Kind = (typeof KINDS)[number];
type Make = () => Promise<string> | string;
type Make5 = readonly [own: Make, foreign: Make, missing: Make, deleted: Make, malformed: Make];
type Answers5 = readonly [own: string, foreign: string, missing: string, deleted: string, malformed: string];

interface Row {
  readonly method: DescMethodUnary;
  /** The value that the operation looks up. */
  readonly name: string;
  readonly fieldsOf: (value: string) => JsonObject;
  readonly values: Make5;
  readonly answers: Answers5;
  /** The kinds whose replies equal that for a missing resource. */
  readonly alike: readonly Kind[];
  /** Whether the times for a foreign and a missing resource are compared, too. */
  readonly isTimed?: boolean;
}

const OTHER_REDIRECT_URI = 'https://other.test/callback';

let service: TestService;
let tenant: Tenant;
/** Has registered `OTHER_REDIRECT_URI`, too. */
let other: Tenant;
let deletedTenant: Tenant;

beforeAll(async () => {
  service = await startTestService({ clock: () => NOW });
  tenant = await createTenant(service);
  other = await createTenant(service, { redirectUris: [REDIRECT_URI, OTHER_REDIRECT_URI] });
  deletedTenant = await createTenant(service);
  await adminClient(service).deleteApplication({ applicationId: deletedTenant.id });
});

afterAll(() => service.close());

const MISMATCH = 'invalid_argument: Client ID mismatch';
const NO_REDIRECT = 'invalid_argument: Invalid redirect URI';
const INVALID = 'invalid_argument: Validation failed';
const INVALID_ID = 'invalid_argument: Invalid webhook ID format';
const BAD_TOKEN = 'unauthenticated: Invalid or expired token';
const NO_USER = 'not_found: User not found';
const EXPIRED = 'unauthenticated: Session expired';
const NO_WEBHOOK = 'not_found: Webhook not found';
const NO_EVENT = 'not_found: Event not found';
const EXISTS = 'already_exists: Event already exists';

const missingClientId = () => other.clientId.replace(/.{8}$/, randomUUID().slice(0, 8));
const unknownWebhookId = () => `wh_${randomBytes(16).toString('hex')}`;
const newUser = async () => (await createTestUser(service)).id;
const webhookOf = async (owner: Tenant) => (await createTestWebhook(service, owner)).webhookId;
const tokenOf = async (owner: Tenant) => logIn(service, owner, await createTestUser(service));

const sessionOf = async (owner: Tenant) => beginSession(service, owner, await createTestUser(service));

/** Returns the ID of a user with a session. */
async function signedIn(owner: Tenant): Promise<string> {
  const user = await createTestUser(service);
  await beginSession(service, owner, user);
  return user.id;
}

async function emailOf(owner: Tenant): Promise<string> {
  const user = await createTestUser(service);
  await beginSession(service, owner, user);
  return user.email;
}

async function createDeletedMember(): Promise<string> {
  const userId = await signedIn(tenant);
  await adminClient(service).deleteUser({ userId });
  return userId;
}

async function createRevokedSession(): Promise<string> {
  const sessionId = await sessionOf(tenant);
  await clientsOf(service, tenant).sessions.revokeSession({ sessionId });
  return sessionId;
}

async function createDeletedWebhook(): Promise<string> {
  const webhookId = await webhookOf(tenant);
  await clientsOf(service, tenant).webhooks.deleteWebhook({ webhookId });
  return webhookId;
}

/** Returns the ID of a webhook and that of a message to it. */
async function deliveryOf(owner: Tenant): Promise<string> {
  const webhookId = await webhookOf(owner);
  const { messageId } = await clientsOf(service, owner).webhooks.sendTestMessage({ webhookId });
  return `${webhookId} ${messageId}`;
}

async function createDeletedDelivery(): Promise<string> {
  const delivery = await deliveryOf(tenant);
  await clientsOf(service, tenant).webhooks.deleteWebhook({ webhookId: delivery.split(' ')[0] ?? '' });
  return delivery;
}

/** Returns the token of the second page of the application's webhooks. */
async function webhookPageTokenOf(owner: Tenant): Promise<string> {
  for (let count = 0; count < 2; count++) await webhookOf(owner);
  return (await clientsOf(service, owner).webhooks.listWebhooks({ pageSize: 1 })).nextPageToken;
}

async function createDeletedEvent(): Promise<string> {
  const eventId = await createTestEvent(service, tenant);
  await clientsOf(service, tenant).events.deleteEvent({ eventId });
  return eventId;
}

/** Returns a valid token for an application that does not exist. */
async function createTokenForNobody(): Promise<string> {
  const tokens = await AuthTokens.create(PUBLIC_URL, service.config.secrets.authSigningKeys ?? []);
  const login = { userId: randomUUID(), loginIntentId: randomUUID(), clientId: missingClientId() };
  return tokens.mint({ ...login, authenticatedAt: NOW, method: 'page' });
}

/** Returns the token of the second page of the application's events. */
async function pageTokenOf(owner: Tenant): Promise<string> {
  for (let count = 0; count < 2; count++) await createTestEvent(service, owner);
  return (await clientsOf(service, owner).events.listEvents({ pageSize: 1 })).nextPageToken;
}

async function createEventWithAda(owner: Tenant): Promise<string> {
  const eventId = await createTestEvent(service, owner);
  await clientsOf(service, owner).events.checkIn({ eventId, attendeeId: 'ada' });
  return eventId;
}

const events: Make5 = [
  () => createTestEvent(service, tenant),
  () => createTestEvent(service, other),
  randomUUID,
  createDeletedEvent,
  () => 'event\n',
];

/** The same with a check-in of `ada`. */
const eventsWithAda: Make5 = [
  () => createEventWithAda(tenant),
  () => createEventWithAda(other),
  events[2],
  events[3],
  events[4],
];

const ROWS: readonly Row[] = [
  {
    method: getWebhook,
    name: 'webhook',
    fieldsOf: (webhookId) => ({ webhookId }),
    values: [() => webhookOf(tenant), () => webhookOf(other), unknownWebhookId, createDeletedWebhook, () => 'wh_0123'],
    answers: ['ok', NO_WEBHOOK, NO_WEBHOOK, NO_WEBHOOK, INVALID_ID],
    alike: ['foreign', 'deleted'],
    isTimed: true,
  },
  ...[updateWebhook, deleteWebhook, rotateSigningKey, sendTestMessage, listDeliveries, redeliverFailed].map(
    (method) => ({
      method,
      name: 'webhook',
      fieldsOf: (webhookId: string) => ({ webhookId, ...(method === redeliverFailed && { since: NOW.toISOString() }) }),
      values: [
        () => webhookOf(tenant),
        () => webhookOf(other),
        unknownWebhookId,
        createDeletedWebhook,
        () => 'wh_0123',
      ] as const,
      answers: ['ok', NO_WEBHOOK, NO_WEBHOOK, NO_WEBHOOK, INVALID_ID] as const,
      alike: ['foreign', 'deleted'] as const,
    }),
  ),
  ...[getDelivery, redeliver].map((method) => ({
    method,
    name: 'delivery',
    fieldsOf: (delivery: string) => {
      const [webhookId = '', messageId = ''] = delivery.split(' ');
      return { webhookId, messageId };
    },
    values: [
      () => deliveryOf(tenant),
      () => deliveryOf(other),
      () => `${unknownWebhookId()} msg_1`,
      createDeletedDelivery,
      () => 'wh_0123 msg_1',
    ] as const,
    answers: ['ok', NO_WEBHOOK, NO_WEBHOOK, NO_WEBHOOK, INVALID_ID] as const,
    alike: ['foreign', 'deleted'] as const,
  })),
  {
    method: generateAuthUrl,
    name: 'client ID',
    fieldsOf: (clientId) => ({ clientId, redirectUri: REDIRECT_URI, state: 'state' }),
    values: [() => tenant.clientId, () => other.clientId, missingClientId, () => deletedTenant.clientId, () => ''],
    answers: ['ok', MISMATCH, MISMATCH, MISMATCH, INVALID],
    alike: ['foreign', 'deleted'],
    isTimed: true,
  },
  {
    method: generateAuthUrl,
    name: 'redirect URI',
    fieldsOf: (redirectUri) => ({ clientId: tenant.clientId, redirectUri, state: 'state' }),
    values: [
      () => REDIRECT_URI,
      () => OTHER_REDIRECT_URI,
      () => 'https://nobody.test/callback',
      () => 'https://other.test/Callback',
      () => '',
    ],
    answers: ['ok', NO_REDIRECT, NO_REDIRECT, NO_REDIRECT, INVALID],
    alike: ['foreign', 'deleted'],
  },
  {
    method: exchangeToken,
    name: 'token',
    fieldsOf: (authToken) => ({ authToken }),
    values: [
      () => tokenOf(tenant),
      () => tokenOf(other),
      createTokenForNobody,
      () => logInDeletedUser(service, tenant),
      () => '',
    ],
    answers: ['ok', BAD_TOKEN, BAD_TOKEN, NO_USER, INVALID],
    alike: ['foreign'],
    isTimed: true,
  },
  ...[checkSession, revokeSession].map((method) => ({
    method,
    name: 'session',
    fieldsOf: (sessionId: string) => ({ sessionId, ...(method === checkSession && { maxStalenessMs: 0 }) }),
    values: [() => sessionOf(tenant), () => sessionOf(other), randomUUID, createRevokedSession, () => ''] as const,
    answers: ['ok', 'ok', 'ok', 'ok', INVALID] as const,
    alike: ['foreign', 'deleted'] as const,
    isTimed: true,
  })),
  {
    method: listSessions,
    name: 'user',
    fieldsOf: (userId) => ({ userId }),
    values: [
      () => signedIn(tenant),
      () => signedIn(other),
      randomUUID,
      () => createDeletedUser(service),
      () => 'nobody',
    ],
    answers: ['ok', 'ok', 'ok', 'ok', INVALID],
    alike: ['foreign', 'deleted'],
  },
  {
    method: getUser,
    name: 'user',
    fieldsOf: (userId) => ({ userId }),
    values: [() => signedIn(tenant), () => signedIn(other), randomUUID, createDeletedMember, () => 'nobody'],
    answers: ['ok', NO_USER, NO_USER, NO_USER, INVALID],
    alike: ['foreign', 'deleted'],
    isTimed: true,
  },
  {
    method: listUsers,
    name: 'e-mail address',
    fieldsOf: (email) => ({ email }),
    values: [() => emailOf(tenant), () => emailOf(other), () => 'nobody@example.com', () => '', () => '\u0000'],
    answers: ['ok', 'ok', 'ok', INVALID, INVALID],
    alike: ['foreign'],
    isTimed: true,
  },
  {
    method: renewSession,
    name: 'session',
    fieldsOf: (sessionId) => ({ sessionId }),
    values: [() => sessionOf(tenant), () => sessionOf(other), randomUUID, createRevokedSession, () => ''],
    answers: ['ok', EXPIRED, EXPIRED, EXPIRED, INVALID],
    alike: ['foreign', 'deleted'],
    isTimed: true,
  },
  {
    // Users belong to no application.
    method: revokeUserSessions,
    name: 'user',
    fieldsOf: (userId) => ({ userId }),
    values: [newUser, newUser, randomUUID, () => createDeletedUser(service), () => 'nobody'],
    answers: ['ok', 'ok', 'ok', 'ok', INVALID],
    alike: ['own', 'foreign', 'deleted'],
  },
  {
    // Users belong to no application.
    method: createWebhook,
    name: 'owner',
    fieldsOf: (ownerId) => ({ url: 'https://hooks.test', ownerId }),
    values: [newUser, newUser, randomUUID, () => createDeletedUser(service), () => 'nobody'],
    answers: ['ok', 'ok', NO_USER, NO_USER, INVALID],
    alike: ['deleted'],
  },
  {
    // Applications do not share event IDs, so an ID that another one uses is free.
    method: createEvent,
    name: 'event ID',
    fieldsOf: (eventId) => ({ eventId }),
    values: events,
    answers: [EXISTS, 'ok', 'ok', EXISTS, INVALID],
    alike: ['foreign'],
  },
  {
    method: listEvents,
    name: 'page token',
    fieldsOf: (pageToken) => ({ pageToken }),
    values: [() => pageTokenOf(tenant), () => pageTokenOf(other), randomUUID, () => '\n', () => '\u0000'],
    answers: ['ok', INVALID, INVALID, INVALID, INVALID],
    alike: ['foreign', 'deleted'],
  },
  {
    method: listWebhooks,
    name: 'page token',
    fieldsOf: (pageToken) => ({ pageToken }),
    values: [() => webhookPageTokenOf(tenant), () => webhookPageTokenOf(other), randomUUID, () => '\n', () => '\u0000'],
    answers: ['ok', INVALID, INVALID, INVALID, INVALID],
    alike: ['foreign', 'deleted'],
  },
  ...[checkIn, undoCheckIn, listCheckIns, deleteEvent, getEvent].map((method) => ({
    method,
    name: 'event',
    fieldsOf: (eventId: string) => ({ eventId, ...(method.input.field.attendeeId && { attendeeId: 'ada' }) }),
    values: method === undoCheckIn ? eventsWithAda : events,
    answers: ['ok', NO_EVENT, NO_EVENT, NO_EVENT, INVALID] as const,
    alike: ['foreign', 'deleted'] as const,
    isTimed: true,
  })),
];

test('the matrix has a row for every operation of applications', () => {
  const methods = OPERATIONS.filter(({ credential }) => credential === 'apiKey').map(({ method }) => method);
  expect(new Set(ROWS.map(({ method }) => method))).toEqual(new Set(methods));
});

/** Every row is tried over these; over other protocols one row is, since they share the code. */
const FULL_PROTOCOLS = ['REST over HTTP/1.1', 'Connect JSON over HTTP/1.1', 'gRPC over HTTP/2'];

describe.each(PROTOCOLS)('over $name', (protocol) => {
  const possible = ROWS.filter(({ method }) => supports(protocol, method));

  test.for(FULL_PROTOCOLS.includes(protocol.name) ? possible : possible.slice(0, 1))(
    '$method.name answers for the $name of another application as for a missing one',
    async (row) => {
      const answers: string[] = [];
      const replies = new Map<Kind, unknown>();
      for (const [at, kind] of KINDS.entries()) {
        const value = (await row.values[at]?.()) ?? '';
        const reply = await send(protocol, service.url, callWith(row, value));
        answers.push(answerOf(protocol, reply));
        replies.set(kind, withoutValue(comparable(reply), value));
      }
      expect(answers).toEqual(row.answers);
      for (const kind of row.alike) expect(replies.get(kind), kind).toEqual(replies.get('missing'));
      if (!row.alike.includes('foreign')) expect(replies.get('foreign')).not.toEqual(replies.get('missing'));
    },
  );
});

/** How many calls of each kind are timed. */
const SAMPLES = quickOrLong(150, 5_000);
const WARM_UP = quickOrLong(50, 500);
/** How many resources of each kind there are, so that no single row is always cached. */
const TARGETS = 40;
/** 0.02, or, with fewer samples, four standard errors of an area of 0.5 (Mann-Whitney). */
const BAND = Math.max(0.02, quickOrLong(4, 0) * Math.sqrt((2 * SAMPLES + 1) / (12 * SAMPLES ** 2)));

/** One HTTP version of each protocol. The short form times each call over one of them. */
const pairs = ['rest', 'connect', 'grpc-web', 'grpc']
  .flatMap((kind) => PROTOCOLS.find((each) => each.kind === kind) ?? [])
  .flatMap((protocol) =>
    ROWS.filter(({ method, isTimed }) => isTimed && supports(protocol, method)).map((row) => ({
      ...{ protocol, row, title: `${row.method.name} over ${protocol.name}` },
    })),
  );

test.for(pairs.filter((_, at) => quickOrLong(at % 8 === 1, true)))(
  '$title takes as long for a foreign resource as for a missing one',
  { timeout: quickOrLong(120_000, 900_000) },
  async ({ protocol, row, title }, context) => {
    using client = openHttpClient(service.url, protocol);
    const [, foreign, missing] = row.values;
    const callsFor = async (make: Make) =>
      callOneOf(client, protocol, row, await Promise.all(Array.from({ length: TARGETS }, make)));
    const kinds = [await callsFor(missing), await callsFor(foreign)] as const;
    const areas = await compareTimings(kinds, { count: SAMPLES, warmUp: WARM_UP, band: BAND });
    const figures = `AUC ${areas.map((area) => area.toFixed(3)).join(', then ')}, within ${BAND.toFixed(3)} of 0.5`;
    report(context, { tried: `${title}: ${SAMPLES} foreign and ${SAMPLES} missing, interleaved`, figures });
    expect(Math.abs((areas.at(-1) ?? 1) - 0.5), figures).toBeLessThanOrEqual(BAND);
  },
);

test('the comparison of times sees a difference of one query', async () => {
  const [pair] = pairs;
  if (!pair) throw new Error('Nothing to compare');
  using client = openHttpClient(service.url, pair.protocol);
  const kinds = [
    callOneOf(client, pair.protocol, pair.row, ['wh_0123']),
    callOneOf(client, pair.protocol, pair.row, Array.from({ length: TARGETS }, unknownWebhookId)),
  ] as const;
  expect(await measureArea(kinds, { count: SAMPLES, warmUp: WARM_UP })).toBeGreaterThan(0.5 + BAND);
});

/** Returns the call with any of the values. */
function callOneOf(
  client: ReturnType<typeof openHttpClient>,
  protocol: Protocol,
  row: Row,
  values: readonly string[],
): TimedKind {
  return async () => {
    const request = toRequest(protocol, callWith(row, values[Math.floor(Math.random() * values.length)] ?? ''));
    return () => client.send(request);
  };
}

/** Every call has the same request ID, so that it does not differ between replies. */
function callWith({ method, fieldsOf }: Row, value: string) {
  const headers = { 'x-api-key': tenant.apiKey, 'x-request-id': 'the-same-for-all' };
  return { method, fields: fieldsOf(value), headers };
}

function withoutValue(reply: unknown, value: string): string {
  return JSON.stringify(reply).replaceAll(value || '\0', '<value>');
}

function answerOf(protocol: Protocol, reply: HttpReply): string {
  const { code, message } = protocol.read(reply);
  return code === 'ok' ? code : `${code}: ${message}`;
}
