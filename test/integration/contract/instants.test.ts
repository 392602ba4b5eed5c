/** Instants at every door of the API: those of the years 1 to 9999 come back as they were, and no other is taken. */
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type JsonObject,
  type MessageInitShape,
  toBinary,
} from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { AdminService, CreateApiKeyRequestSchema } from '../../../gen/usher/v1/admin_pb.ts';
import { CheckInRequestSchema, CreateEventRequestSchema, EventService } from '../../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import { openContractFixture } from '../../contract/contract-fixture.ts';
import { answerOf, CONNECT, PROTOCOLS, type Protocol, REST, RPC_PROTOCOLS, send } from '../../support/protocols.ts';
import { ADMIN_KEY, createTestEvent, createTestWebhook } from '../../support/service.ts';

const { service, tenant, credentials } = await openContractFixture();
const { createEvent, getEvent, listEvents, updateEvent, checkIn, batchCheckIn } = EventService.method;
const { listDeliveries, redeliverFailed } = WebhookService.method;
const { listAuditEvents, createApiKey } = AdminService.method;
const eventId = await createTestEvent(service, tenant);
const { webhookId } = await createTestWebhook(service, tenant);

/** Texts, with the instant that they are. */
const TAKEN: readonly (readonly [text: string, instant: string])[] = [
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
  ['0001-01-01T14:00:00.000+14:00', '0001-01-01T00:00:00.000Z'],
  ['0000-12-31T23:30:00-00:30', '0001-01-01T00:00:00.000Z'],
  ['0012-12-31T00:00:00Z', '0012-12-31T00:00:00.000Z'],
  ['0026-06-15T18:00:00Z', '0026-06-15T18:00:00.000Z'],
  ['0049-02-28T23:59:59.999Z', '0049-02-28T23:59:59.999Z'],
  ['0050-12-31T11:11:11.1Z', '0050-12-31T11:11:11.100Z'],
  ['0099-12-31T23:59:59-00:01', '0100-01-01T00:00:59.000Z'],
  ['0999-07-01T00:00:00Z', '0999-07-01T00:00:00.000Z'],
  ['1582-10-10T00:00:00Z', '1582-10-10T00:00:00.000Z'],
  ['1969-12-31T23:59:59.999999999Z', '1969-12-31T23:59:59.999Z'],
  ['2024-02-29T12:00:00.123456789+23:59', '2024-02-28T12:01:00.123Z'],
  ['2026-06-15T18:00:00.000000001-00:00', '2026-06-15T18:00:00.000Z'],
  ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ['9999-12-31T23:59:59.9999999+00:00', '9999-12-31T23:59:59.999Z'],
];

const REFUSED = [
  ...['0000-12-31T23:59:59.999Z', '0000-01-01T00:00:00Z', '0001-01-01T00:00:00+00:01', '0001-01-01T00:00:00+14:00'],
  ...['9999-12-31T23:59:59.999-00:01', '9999-12-31T23:59:59-23:59', '10000-01-01T00:00:00Z', '+010000-01-01T00:00:00Z'],
  ...['-0001-01-01T00:00:00Z', '-000001-01-01T00:00:00Z', '0044-03-15T12:00:00Z BC', '26-06-15T18:00:00Z'],
  ...['2026-02-29T12:00:00Z', '2026-02-30T12:00:00Z', '0026-02-29T12:00:00Z', '2026-04-31T00:00:00+02:00'],
  ...['2026-13-01T00:00:00Z', '2026-00-10T00:00:00Z', '2026-01-00T00:00:00Z', '2026-06-15T24:00:00Z'],
  ...['2026-06-30T23:59:60Z', '2026-06-15T18:60:00Z', '2026-06-15T25:00:00Z', '2026-06-15T18:00:00+24:00'],
  ...[
    '2026-06-15T18:00:00-00:60',
    '2026-06-15T18:00:00+0200',
    '2026-06-15T18:00:00+02',
    '2026-06-15T18:00:00+00:53:28',
  ],
  ...['2026-06-15T18:00:00', '2026-06-15 18:00:00Z', '2026-06-15T18:00Z', '2026-06-15', '2026-06-15t18:00:00z'],
  ...['2026-06-15T18:00:00.Z', '2026-06-15T18:00:00.1234567891Z', '2026-06-15T18:00:00,5Z', ' 2026-06-15T18:00:00Z'],
  ...['2026-06-15T18:00:00Z\n', '٢٠٢٦-06-15T18:00:00Z', 'infinity', '-infinity', 'epoch', 'now', '1781546400', ''],
];
const OTHER_TYPES = [1_781_546_400, true, [], {}, { seconds: '1781546400', nanos: 0 }];

const named = (protocols: readonly Protocol[]) => protocols.map((protocol) => ({ protocol, name: protocol.name }));

async function call(protocol: Protocol, method: DescMethodUnary, given: object, body?: string | Uint8Array) {
  const headers = method.parent === AdminService ? { 'x-admin-key': ADMIN_KEY } : credentials;
  const each = { method, headers, fields: given as JsonObject, ...(body && { body }) };
  return answerOf(protocol, method, await send(protocol, service.url, each));
}

it.each(named(PROTOCOLS))('over $name instants of the years 1 to 9999 come back as they were', async ({ protocol }) => {
  const startOf = ({ data }: { data?: unknown }) => {
    const { event = data, events } = data as { event?: unknown; events?: readonly unknown[] };
    return new Date(((events?.[0] ?? event) as { startsAt: string }).startsAt).toISOString();
  };
  for (const [text, instant] of TAKEN) {
    const id = crypto.randomUUID();
    expect(await call(protocol, createEvent, { eventId: id, startsAt: text }), text).toMatchObject({ code: 'ok' });
    const found = [
      await call(protocol, getEvent, { eventId: id }),
      await call(protocol, listEvents, { pageSize: 1 }),
      await call(protocol, updateEvent, { eventId: id, name: 'Same', startsAt: text }),
    ];
    expect(found.map(startOf), text).toEqual([instant, instant, instant]);
  }
});

/** Fields with an instant, by how violations name them. */
type Door = readonly [name: string, field: string, method: DescMethodUnary, fieldsOf: (instant: unknown) => object];

const scan = { scanId: crypto.randomUUID(), attendeeId: 'ada' };
const DOORS: readonly Door[] = [
  ['CreateEvent', 'startsAt', createEvent, (startsAt) => ({ eventId: 'new', startsAt })],
  ['CreateEvent', 'endsAt', createEvent, (endsAt) => ({ eventId: 'new', endsAt })],
  ['UpdateEvent', 'startsAt', updateEvent, (startsAt) => ({ eventId, startsAt })],
  ['CheckIn', 'occurredAt', checkIn, (occurredAt) => ({ eventId, ...scan, occurredAt })],
  [
    'BatchCheckIn',
    'scans[0].occurredAt',
    batchCheckIn,
    (occurredAt) => ({ eventId, scans: [{ ...scan, occurredAt }] }),
  ],
  ['ListDeliveries', 'since', listDeliveries, (since) => ({ webhookId, since })],
  ['RedeliverFailed', 'since', redeliverFailed, (since) => ({ webhookId, since })],
  ['ListAuditEvents', 'since', listAuditEvents, (since) => ({ since })],
  ['ListAuditEvents', 'until', listAuditEvents, (until) => ({ until })],
  ['CreateApiKey', 'expiresAt', createApiKey, (expiresAt) => ({ applicationId: tenant.id, expiresAt })],
];

const GRPC_WEB_JSON: Protocol = {
  ...(PROTOCOLS.find(({ kind }) => kind === 'grpc-web') as Protocol),
  name: 'gRPC-Web with JSON',
  contentType: 'application/grpc-web+json',
};

describe.each(named([REST, CONNECT, GRPC_WEB_JSON]))('over $name', ({ protocol }) => {
  const doors = DOORS.filter(
    ([name, , { parent }]) =>
      (protocol.kind !== 'rest' || parent !== AdminService) && (protocol !== GRPC_WEB_JSON || name === 'BatchCheckIn'),
  );
  it.each(doors)('%s refuses a %s in any other form', async (_name, field, method, fieldsOf) => {
    const isTimestamp = !['since', 'until'].includes(field);
    for (const instant of [...REFUSED, ...(isTimestamp ? OTHER_TYPES : [])]) {
      const fields = fieldsOf(instant);
      const body = protocol.kind === 'grpc-web' ? protocol.wrap(JSON.stringify(fields)) : undefined;
      const answer = await call(protocol, method, fields, body);
      expect(answer, JSON.stringify(instant)).toMatchObject({ code: 'invalid_argument', fields: [field] });
    }
  });
});

it.each(DOORS.filter(([name]) => /^List/.test(name)))('%s takes a %s of the years 1 to 9999', async (...door) => {
  const [, , method, fieldsOf] = door;
  for (const [text] of TAKEN) expect(await call(CONNECT, method, fieldsOf(text)), text).toMatchObject({ code: 'ok' });
});

const [FIRST_SECOND, LAST_SECOND] = [-62_135_596_800n, 253_402_300_799n];
const OUTSIDE: readonly (readonly [seconds: bigint, nanos: number])[] = [
  [FIRST_SECOND - 1n, 999_999_999],
  [FIRST_SECOND - 1n, 0],
  [LAST_SECOND + 1n, 0],
  [2n ** 63n - 1n, 0],
  [-(2n ** 63n), 0],
  [8_640_000_000_001n, 0],
  [0n, -1],
  [0n, 1_000_000_000],
  [LAST_SECOND, 1_000_000_000],
  [FIRST_SECOND, -1],
  [0n, 2 ** 31 - 1],
  [0n, -(2 ** 31)],
];

it.each(named(RPC_PROTOCOLS.filter(({ isJson }) => !isJson)))(
  'over $name a Timestamp of another year, or with another fraction of a second, is refused',
  async ({ protocol }) => {
    for (const [seconds, nanos] of OUTSIDE) {
      const at = { seconds, nanos };
      for (const [field, method, bytes] of [
        ['startsAt', createEvent, encode(CreateEventRequestSchema, { eventId: 'new', startsAt: at })],
        ['occurredAt', checkIn, encode(CheckInRequestSchema, { eventId, attendeeId: 'a', occurredAt: at })],
        ['expiresAt', createApiKey, encode(CreateApiKeyRequestSchema, { applicationId: tenant.id, expiresAt: at })],
      ] as const) {
        const answer = await call(protocol, method, {}, protocol.wrap(bytes));
        expect(answer, `${seconds} ${nanos}`).toMatchObject({ code: 'invalid_argument', fields: [field] });
      }
    }
  },
);

function encode<Schema extends DescMessage>(schema: Schema, fields: MessageInitShape<Schema>): Uint8Array {
  return toBinary(schema, create(schema, fields));
}
