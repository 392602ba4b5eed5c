/** What an application is answered for its own, for another's, and for what is not there. */
import { randomUUID } from 'node:crypto';
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { sendRaw } from '../support/http.ts';
import { createTestUser, REDIRECT_URI, startTestService, type TestService } from '../support/service.ts';
import { report } from '../support/soak.ts';
import { Tenants, unknownWebhookId } from '../support/tenants.ts';
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

/** So that times in replies are the same. */
const NOW = new Date();
const KINDS = ['own', 'foreign', 'missing', 'deleted', 'malformed'] as const;
type Kind = (typeof KINDS)[number];

interface Row {
  readonly name: string;
  readonly method: DescMethodUnary;
  /** The value that is looked for, whose it may be, and the fields that carry it. */
  readonly targets: Record<Kind, () => Promise<string> | string>;
  readonly fieldsOf: (target: string) => JsonObject;
  readonly answers: Record<Kind, string>;
  /** What must look the same, byte for byte, as what is missing. */
  readonly alike: readonly Kind[];
}

let service: TestService;
let street: Tenants;
let calls = 0;

beforeAll(async () => {
  service = await startTestService({ clock: () => NOW });
  street = await Tenants.settle(service, NOW);
});

afterAll(() => service.close());

const login = (clientId: string, redirectUri = REDIRECT_URI) => ({ clientId, redirectUri, state: 'state' });
const MISMATCH = 'InvalidArgument: Client ID mismatch';
const NO_REDIRECT = 'InvalidArgument: Invalid redirect URI';
const INVALID = 'InvalidArgument: Validation failed';
const BAD_TOKEN = 'Unauthenticated: Invalid or expired token';
const NO_USER = 'NotFound: User not found';
const NO_WEBHOOK = 'NotFound: Webhook not found';
const NO_EVENT = 'NotFound: Event not found';
const EXISTS = 'AlreadyExists: Event already exists';

const ROWS: readonly Row[] = [
  {
    name: 'GenerateAuthUrl with the client ID',
    method: generateAuthUrl,
    targets: {
      own: () => street.tenant.clientId,
      foreign: () => street.other.clientId,
      missing: () => street.other.clientId.replace(/.{8}$/, 'deadbeef'),
      deleted: () => street.deletedTenant.clientId,
      malformed: () => '',
    },
    fieldsOf: (clientId) => login(clientId),
    answers: { own: 'ok', foreign: MISMATCH, missing: MISMATCH, deleted: MISMATCH, malformed: INVALID },
    alike: ['foreign', 'deleted'],
  },
  {
    name: 'GenerateAuthUrl with the redirect URI',
    method: generateAuthUrl,
    targets: {
      own: () => REDIRECT_URI,
      foreign: () => 'https://other.test/callback',
      missing: () => 'https://nobody.test/callback',
      deleted: () => 'https://other.test/Callback',
      malformed: () => '',
    },
    fieldsOf: (redirectUri) => login(street.tenant.clientId, redirectUri),
    answers: { own: 'ok', foreign: NO_REDIRECT, missing: NO_REDIRECT, deleted: NO_REDIRECT, malformed: INVALID },
    alike: ['foreign', 'deleted'],
  },
  {
    name: 'ExchangeToken with the token',
    method: exchangeToken,
    targets: {
      own: () => street.tokenOf(street.tenant),
      foreign: () => street.tokenOf(street.other),
      missing: () => street.tokenFor('client_that_never_was'),
      deleted: () => street.tokenOfDeletedUser(),
      malformed: () => '',
    },
    fieldsOf: (authToken) => ({ authToken }),
    answers: { own: 'ok', foreign: BAD_TOKEN, missing: BAD_TOKEN, deleted: NO_USER, malformed: INVALID },
    alike: ['foreign'],
  },
  {
    name: 'GetWebhook with the webhook',
    method: getWebhook,
    targets: {
      own: () => street.webhookOf(street.tenant),
      foreign: () => street.webhookOf(street.other),
      missing: () => unknownWebhookId(),
      deleted: () => street.deletedWebhook(),
      malformed: () => 'wh_0123',
    },
    fieldsOf: (webhookId) => ({ webhookId }),
    answers: {
      own: 'ok',
      foreign: NO_WEBHOOK,
      missing: NO_WEBHOOK,
      deleted: NO_WEBHOOK,
      malformed: 'InvalidArgument: Invalid webhook ID format',
    },
    alike: ['foreign', 'deleted'],
  },
  {
    // Users belong to no application.
    name: 'CreateWebhook with the owner',
    method: createWebhook,
    targets: {
      own: async () => (await createTestUser(service)).id,
      foreign: async () => (await createTestUser(service)).id,
      missing: () => randomUUID(),
      deleted: () => street.deletedUser(),
      malformed: () => 'nobody',
    },
    fieldsOf: (ownerId) => ({ url: 'https://hooks.test', ownerId }),
    answers: { own: 'ok', foreign: 'ok', missing: NO_USER, deleted: NO_USER, malformed: INVALID },
    alike: ['deleted'],
  },
  {
    // An event ID is an application's own: that another one has it does not show.
    name: 'CreateEvent with the event ID',
    method: createEvent,
    targets: {
      own: () => street.eventOf(street.tenant),
      foreign: () => street.eventOf(street.other),
      missing: () => randomUUID(),
      deleted: () => street.deletedEvent(),
      malformed: () => 'event\n',
    },
    fieldsOf: (eventId) => ({ eventId }),
    answers: { own: EXISTS, foreign: 'ok', missing: 'ok', deleted: EXISTS, malformed: INVALID },
    alike: ['foreign'],
  },
  ...[
    {
      name: 'CheckIn with the event',
      method: checkIn,
      fieldsOf: (eventId: string) => ({ eventId, attendeeId: 'ada' }),
    },
    { name: 'DeleteEvent with the event', method: deleteEvent, fieldsOf: (eventId: string) => ({ eventId }) },
  ].map((row) => ({
    ...row,
    targets: {
      own: () => street.eventOf(street.tenant),
      foreign: () => street.eventOf(street.other),
      missing: () => randomUUID(),
      deleted: () => street.deletedEvent(),
      malformed: () => 'event\n',
    },
    answers: { own: 'ok', foreign: NO_EVENT, missing: NO_EVENT, deleted: NO_EVENT, malformed: INVALID },
    alike: ['foreign', 'deleted'] as const,
  })),
];

describe.each(WIRES)('$name:', (wire) => {
  test.for(ROWS.filter(({ method }) => carries(wire, method)))('$name, whosever', async (row) => {
    const answers: Partial<Record<Kind, string>> = {};
    const replies = new Map<Kind, unknown>();
    for (const kind of KINDS) {
      const target = await row.targets[kind]();
      const call = { method: row.method, fields: row.fieldsOf(target), headers: credentials() };
      const reply = await sendOver(wire, service.url, call);
      answers[kind] = answerOf(wire, reply);
      replies.set(kind, [comparable(reply), await rawReply(wire, row, kind)].map(withoutTarget(target)));
      calls++;
    }
    expect(answers).toEqual(row.answers);
    for (const kind of row.alike) expect(replies.get(kind), kind).toEqual(replies.get('missing'));
    if (!row.alike.includes('foreign')) expect(replies.get('foreign')).not.toEqual(replies.get('missing'));
  });
});

test('every cell has been tried', (context) => {
  const cells = WIRES.flatMap((wire) => ROWS.filter(({ method }) => carries(wire, method))).length * KINDS.length;
  report(context, { tried: `${cells} cells of the tenant matrix`, lost: 'nothing' });
  expect(calls).toBe(cells);
});

/** The same once more over HTTP/1.1, as it is on the wire, but for the date. */
async function rawReply(wire: Wire, row: Row, kind: Kind): Promise<string | undefined> {
  if (wire.httpVersion !== '1.1') return undefined;
  const target = await row.targets[kind]();
  const call = { method: row.method, fields: row.fieldsOf(target), headers: credentials() };
  const { method, path, headers, body } = toRequest(wire, call);
  const lines = Object.entries({ ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' });
  const head = `${method} ${path} HTTP/1.1\r\nhost: usher\r\n${lines.map((line) => `${line.join(': ')}\r\n`).join('')}\r\n`;
  const raw = await sendRaw(service.port, Buffer.concat([Buffer.from(head), Buffer.from(body)]));
  expect(raw).toMatch(/^HTTP\/1\.1 \d{3} /);
  return raw.replace(/\r\ndate: [^\r]*/i, '').replaceAll(target || '\0', '<target>');
}

/** Every call has the same ID, so that this may not differ either. */
function credentials(): Record<string, string> {
  return { 'x-api-key': street.tenant.apiKey, 'x-request-id': 'the-same-for-all' };
}

function withoutTarget(target: string): (reply: unknown) => unknown {
  return (reply) => JSON.stringify(reply ?? null).replaceAll(target || '\0', '<target>');
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
