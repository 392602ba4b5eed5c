/** The time of a reply does not tell what belongs to another application from what does not exist. */
import { randomUUID } from 'node:crypto';
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { openWireClient } from '../support/rpc-wire.ts';
import { REDIRECT_URI, startTestService, type TestService } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { Tenants, unknownWebhookId } from '../support/tenants.ts';
import { compareTimings, type Kind, measureArea } from '../support/timing-comparison.ts';
import { carries, toRequest, WIRES, type Wire } from '../support/wire.ts';

const { getWebhook } = WebhookService.method;
const { deleteEvent, checkIn } = EventService.method;
const { generateAuthUrl, exchangeToken } = AuthService.method;

/** How many calls of each kind are timed. */
const SAMPLES = quickOrLong(150, 5_000);
const WARM_UP = quickOrLong(50, 500);
/** How many resources of each kind there are, so that no single row is always cached. */
const TARGETS = 40;

/** 0.02, or, with fewer samples, four standard errors of an area of 0.5 (Mann-Whitney). */
const BAND = Math.max(0.02, quickOrLong(4, 0) * Math.sqrt((2 * SAMPLES + 1) / (12 * SAMPLES ** 2)));

let service: TestService;
let tenants: Tenants;

beforeAll(async () => {
  service = await startTestService();
  tenants = await Tenants.create(service);
});

afterAll(() => service.close());

type Make = () => Promise<string> | string;

interface Comparison {
  readonly method: DescMethodUnary;
  readonly foreign: Make;
  readonly missing: Make;
  readonly fieldsOf: (target: string) => JsonObject;
}

const foreignEvent = () => tenants.eventOf(tenants.other);
const missingClientId = () => tenants.other.clientId.replace(/.{8}$/, randomUUID().slice(0, 8));

const COMPARISONS: readonly Comparison[] = [
  {
    method: getWebhook,
    foreign: () => tenants.webhookOf(tenants.other),
    missing: unknownWebhookId,
    fieldsOf: (webhookId) => ({ webhookId }),
  },
  {
    method: checkIn,
    foreign: foreignEvent,
    missing: randomUUID,
    fieldsOf: (eventId) => ({ eventId, attendeeId: 'ada' }),
  },
  { method: deleteEvent, foreign: foreignEvent, missing: randomUUID, fieldsOf: (eventId) => ({ eventId }) },
  {
    method: generateAuthUrl,
    foreign: () => tenants.other.clientId,
    missing: missingClientId,
    fieldsOf: (clientId) => ({ clientId, redirectUri: REDIRECT_URI, state: 'state' }),
  },
  {
    method: exchangeToken,
    foreign: () => tenants.tokenOf(tenants.other),
    missing: () => tenants.tokenFor(missingClientId()),
    fieldsOf: (authToken) => ({ authToken }),
  },
];

/** The first wire of each protocol. The short form times each call over one of them. */
const PROTOCOLS = ['rest', 'connect', 'grpc-web', 'grpc'].flatMap(
  (protocol) => WIRES.find((wire) => wire.protocol === protocol) ?? [],
);
const PAIRS = PROTOCOLS.flatMap((wire) =>
  COMPARISONS.filter(({ method }) => carries(wire, method)).map((comparison) => ({
    name: `${comparison.method.name} over ${wire.name}`,
    ...comparison,
    wire,
  })),
);

test.for(PAIRS.filter((_, at) => quickOrLong(at % 4 === 1, true)))(
  '$name takes as long for a foreign resource as for a missing one',
  { timeout: quickOrLong(120_000, 900_000) },
  async ({ name, wire, method, foreign, missing, fieldsOf }, context) => {
    using client = openWireClient(service.url, wire);
    const call = async (make: Make) =>
      callOneOf(client, wire, method, (await Promise.all(Array.from({ length: TARGETS }, make))).map(fieldsOf));
    const kinds = [await call(missing), await call(foreign)] as const;
    const areas = await compareTimings(kinds, { count: SAMPLES, warmUp: WARM_UP, band: BAND });
    const figures = `AUC ${areas.map((area) => area.toFixed(3)).join(', then ')}, within ${BAND.toFixed(3)} of 0.5`;
    report(context, { tried: `${name}: ${SAMPLES} foreign and ${SAMPLES} missing, interleaved`, figures });
    expect(Math.abs((areas.at(-1) ?? 1) - 0.5), figures).toBeLessThanOrEqual(BAND);
  },
);

test('the comparison sees a difference of one query', async () => {
  const [wire] = WIRES;
  if (!wire) throw new Error('There is no wire');
  using client = openWireClient(service.url, wire);
  const queried = Array.from({ length: TARGETS }, () => ({ webhookId: unknownWebhookId() }));
  const kinds = [
    callOneOf(client, wire, getWebhook, [{ webhookId: 'wh_0123' }]),
    callOneOf(client, wire, getWebhook, queried),
  ] as const;
  expect(await measureArea(kinds, { count: SAMPLES, warmUp: WARM_UP })).toBeGreaterThan(0.5 + BAND);
});

/** Returns the call with any of the fields. */
function callOneOf(
  client: ReturnType<typeof openWireClient>,
  wire: Wire,
  method: DescMethodUnary,
  targets: readonly JsonObject[],
): Kind {
  const headers = { 'x-api-key': tenants.tenant.apiKey, 'x-request-id': 'the-same-for-all' };
  return async () => {
    const fields = targets[Math.floor(Math.random() * targets.length)] ?? {};
    const request = toRequest(wire, { method, fields, headers });
    return () => client.send(request);
  };
}
