/** What each operation of an application answers for resources that are its own, another's, missing or deleted. */
import { randomUUID } from 'node:crypto';
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { OPERATIONS } from '../../src/api/catalogue.ts';
import { sendRaw } from '../support/http.ts';
import { createTestUser, REDIRECT_URI, startTestService, type TestService } from '../support/service.ts';
import { OTHER_REDIRECT_URI, Tenants, unknownWebhookId } from '../support/tenants.ts';
import {
  carries,
  comparable,
  failureOf,
  sendOver,
  toRequest,
  WIRES,
  type Wire,
  type WireReply,
} from '../support/wire.ts';

const { generateAuthUrl, exchangeToken } = AuthService.method;
const { getWebhook, createWebhook } = WebhookService.method;
const { deleteEvent, createEvent, checkIn } = EventService.method;

/** A fixed time, so that timestamps in replies are the same. */
const NOW = new Date();
const KINDS = ['own', 'foreign', 'missing', 'deleted', 'malformed'] as const;
type Kind = (typeof KINDS)[number];

interface Row {
  readonly name: string;
  readonly method: DescMethodUnary;
  /** Makes the value that the operation looks up. */
  readonly targets: Record<Kind, () => Promise<string> | string>;
  readonly fieldsOf: (target: string) => JsonObject;
  readonly answers: Record<Kind, string>;
  /** The kinds whose replies equal that for a missing resource, byte for byte. */
  readonly alike: readonly Kind[];
}

let service: TestService;
let tenants: Tenants;

beforeAll(async () => {
  service = await startTestService({ clock: () => NOW });
  tenants = await Tenants.create(service, NOW);
});

afterAll(() => service.close());

const MISMATCH = 'InvalidArgument: Client ID mismatch';
const NO_REDIRECT = 'InvalidArgument: Invalid redirect URI';
const INVALID = 'InvalidArgument: Validation failed';
const INVALID_ID = 'InvalidArgument: Invalid webhook ID format';
const BAD_TOKEN = 'Unauthenticated: Invalid or expired token';
const NO_USER = 'NotFound: User not found';
const NO_WEBHOOK = 'NotFound: Webhook not found';
const NO_EVENT = 'NotFound: Event not found';
const EXISTS = 'AlreadyExists: Event already exists';

const events: Row['targets'] = {
  own: () => tenants.eventOf(tenants.tenant),
  foreign: () => tenants.eventOf(tenants.other),
  missing: () => randomUUID(),
  deleted: () => tenants.deletedEvent(),
  malformed: () => 'event\n',
};
const eventAnswers = { own: 'ok', foreign: NO_EVENT, missing: NO_EVENT, deleted: NO_EVENT, malformed: INVALID };

const ROWS: readonly Row[] = [
  {
    name: 'the client ID',
    method: generateAuthUrl,
    targets: {
      own: () => tenants.tenant.clientId,
      foreign: () => tenants.other.clientId,
      missing: () => tenants.other.clientId.replace(/.{8}$/, 'deadbeef'),
      deleted: () => tenants.deletedTenant.clientId,
      malformed: () => '',
    },
    fieldsOf: (clientId) => ({ clientId, redirectUri: REDIRECT_URI, state: 'state' }),
    answers: { own: 'ok', foreign: MISMATCH, missing: MISMATCH, deleted: MISMATCH, malformed: INVALID },
    alike: ['foreign', 'deleted'],
  },
  {
    name: 'the redirect URI',
    method: generateAuthUrl,
    targets: {
      own: () => REDIRECT_URI,
      foreign: () => OTHER_REDIRECT_URI,
      missing: () => 'https://nobody.test/callback',
      deleted: () => 'https://other.test/Callback',
      malformed: () => '',
    },
    fieldsOf: (redirectUri) => ({ clientId: tenants.tenant.clientId, redirectUri, state: 'state' }),
    answers: { own: 'ok', foreign: NO_REDIRECT, missing: NO_REDIRECT, deleted: NO_REDIRECT, malformed: INVALID },
    alike: ['foreign', 'deleted'],
  },
  {
    name: 'the token',
    method: exchangeToken,
    targets: {
      own: () => tenants.tokenOf(tenants.tenant),
      foreign: () => tenants.tokenOf(tenants.other),
      missing: () => tenants.tokenFor('client_that_never_was'),
      deleted: () => tenants.tokenOfDeletedUser(),
      malformed: () => '',
    },
    fieldsOf: (authToken) => ({ authToken }),
    answers: { own: 'ok', foreign: BAD_TOKEN, missing: BAD_TOKEN, deleted: NO_USER, malformed: INVALID },
    alike: ['foreign'],
  },
  {
    name: 'the webhook',
    method: getWebhook,
    targets: {
      own: () => tenants.webhookOf(tenants.tenant),
      foreign: () => tenants.webhookOf(tenants.other),
      missing: () => unknownWebhookId(),
      deleted: () => tenants.deletedWebhook(),
      malformed: () => 'wh_0123',
    },
    fieldsOf: (webhookId) => ({ webhookId }),
    answers: { own: 'ok', foreign: NO_WEBHOOK, missing: NO_WEBHOOK, deleted: NO_WEBHOOK, malformed: INVALID_ID },
    alike: ['foreign', 'deleted'],
  },
  {
    // Users belong to no application.
    name: 'the owner',
    method: createWebhook,
    targets: {
      own: async () => (await createTestUser(service)).id,
      foreign: async () => (await createTestUser(service)).id,
      missing: () => randomUUID(),
      deleted: () => tenants.deletedUser(),
      malformed: () => 'nobody',
    },
    fieldsOf: (ownerId) => ({ url: 'https://hooks.test', ownerId }),
    answers: { own: 'ok', foreign: 'ok', missing: NO_USER, deleted: NO_USER, malformed: INVALID },
    alike: ['deleted'],
  },
  {
    // Applications do not share event IDs, so an ID that another one uses is free.
    name: 'the event ID',
    method: createEvent,
    targets: events,
    fieldsOf: (eventId) => ({ eventId }),
    answers: { own: EXISTS, foreign: 'ok', missing: 'ok', deleted: EXISTS, malformed: INVALID },
    alike: ['foreign'],
  },
  {
    name: 'the event',
    method: checkIn,
    targets: events,
    fieldsOf: (eventId) => ({ eventId, attendeeId: 'ada' }),
    answers: eventAnswers,
    alike: ['foreign', 'deleted'],
  },
  {
    name: 'the event',
    method: deleteEvent,
    targets: events,
    fieldsOf: (eventId) => ({ eventId }),
    answers: eventAnswers,
    alike: ['foreign', 'deleted'],
  },
];

/** Every row is tried over these; over other protocols one row is, since they share the code. */
const FULL_WIRES = ['REST over HTTP/1.1', 'Connect JSON over HTTP/1.1', 'gRPC over HTTP/2'];

test.each(OPERATIONS.filter(({ credential }) => credential === 'apiKey').map(({ method }) => method))(
  'the matrix has a row for $name',
  (method) => {
    const isTried = ROWS.some((row) => row.method === method);
    expect(isTried, `add a row for ${method.name} to ROWS in tenant-matrix.test.ts`).toBe(true);
  },
);

describe.each(WIRES)('over $name', (wire) => {
  const possible = ROWS.filter(({ method }) => carries(wire, method));
  const tried = FULL_WIRES.includes(wire.name) ? possible : possible.filter(({ method }) => method === getWebhook);

  test.for(tried)('$method.name answers a foreign value of $name as a missing one', async (row) => {
    const answers: Partial<Record<Kind, string>> = {};
    const replies = new Map<Kind, unknown>();
    for (const kind of KINDS) {
      const target = await row.targets[kind]();
      const reply = await sendOver(wire, service.url, callWith(row, target));
      answers[kind] = answerOf(wire, reply);
      replies.set(kind, [withoutTarget(comparable(reply), target), await rawReply(wire, row, kind)]);
    }
    expect(answers).toEqual(row.answers);
    for (const kind of row.alike) expect(replies.get(kind), kind).toEqual(replies.get('missing'));
    if (!row.alike.includes('foreign')) expect(replies.get('foreign')).not.toEqual(replies.get('missing'));
  });
});

/** Every call has the same request ID, so that it does not differ between replies. */
function callWith({ method, fieldsOf }: Row, target: string) {
  const headers = { 'x-api-key': tenants.tenant.apiKey, 'x-request-id': 'the-same-for-all' };
  return { method, fields: fieldsOf(target), headers };
}

/** Returns the bytes of a reply over HTTP/1.1, without the date. */
async function rawReply(wire: Wire, row: Row, kind: Kind): Promise<string | undefined> {
  if (wire.httpVersion !== '1.1') return undefined;
  const target = await row.targets[kind]();
  const { method, path, headers, body } = toRequest(wire, callWith(row, target));
  const lines = Object.entries({ ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' });
  const head = `${method} ${path} HTTP/1.1\r\nhost: usher\r\n${lines.map((line) => `${line.join(': ')}\r\n`).join('')}\r\n`;
  const raw = await sendRaw(service.port, Buffer.concat([Buffer.from(head), Buffer.from(body)]));
  expect(raw).toMatch(/^HTTP\/1\.1 \d{3} /);
  return withoutTarget(raw.replace(/\r\ndate: [^\r]*/i, ''), target);
}

function withoutTarget(reply: unknown, target: string): string {
  return JSON.stringify(reply).replaceAll(target || '\0', '<target>');
}

function answerOf(wire: Wire, reply: WireReply): string {
  if (wire.protocol === 'rest' && reply.status === 200) return 'ok';
  try {
    const { code, message } = failureOf(wire, reply);
    return `${code}: ${message}`;
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('No error')) return 'ok';
    throw error;
  }
}
