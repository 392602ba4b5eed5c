/** Whether the time an answer takes tells what belongs to another application from what is not there. */
import { randomUUID } from 'node:crypto';
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { openWireClient } from '../support/rpc-wire.ts';
import { REDIRECT_URI, startTestService, type TestService } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { Tenants, unknownWebhookId } from '../support/tenants.ts';
import { areaUnderCurve } from '../support/timing-comparison.ts';
import { carries, toRequest, WIRES, type Wire } from '../support/wire.ts';

const { getWebhook } = WebhookService.method;
const { deleteEvent, checkIn } = EventService.method;
const { generateAuthUrl, exchangeToken } = AuthService.method;

/** Of each of the two sides. */
const SAMPLES = quickOrLong(150, 5_000);
const WARM_UP = quickOrLong(50, 500);
const ATTEMPTS = 4;
/** Of each kind, so that no single row is always at hand. */
const TARGETS = 40;

/** 0.02, or, with fewer samples, four standard errors of an AUC of 0.5 (Mann-Whitney). */
const BAND = Math.max(0.02, quickOrLong(4, 0) * Math.sqrt((2 * SAMPLES + 1) / (12 * SAMPLES ** 2)));

let service: TestService;
let street: Tenants;

beforeAll(async () => {
  service = await startTestService();
  street = await Tenants.settle(service, new Date());
});

afterAll(() => service.close());

interface Comparison {
  readonly name: string;
  readonly method: DescMethodUnary;
  readonly foreign: () => Promise<string> | string;
  readonly missing: () => Promise<string> | string;
  readonly fieldsOf: (target: string) => JsonObject;
}

const foreignEvent = () => street.eventOf(street.other);

const COMPARISONS: readonly Comparison[] = [
  {
    name: 'GetWebhook',
    method: getWebhook,
    foreign: () => street.webhookOf(street.other),
    missing: unknownWebhookId,
    fieldsOf: (webhookId) => ({ webhookId }),
  },
  {
    name: 'CheckIn',
    method: checkIn,
    foreign: foreignEvent,
    missing: () => randomUUID(),
    fieldsOf: (eventId) => ({ eventId, attendeeId: 'ada' }),
  },
  {
    name: 'DeleteEvent',
    method: deleteEvent,
    foreign: foreignEvent,
    missing: () => randomUUID(),
    fieldsOf: (eventId) => ({ eventId }),
  },
  {
    name: 'GenerateAuthUrl',
    method: generateAuthUrl,
    foreign: () => street.other.clientId,
    missing: () => street.other.clientId.replace(/.{8}$/, randomUUID().slice(0, 8)),
    fieldsOf: (clientId) => ({ clientId, redirectUri: REDIRECT_URI, state: 'state' }),
  },
  {
    name: 'ExchangeToken',
    method: exchangeToken,
    foreign: () => street.tokenOf(street.other),
    missing: () => street.tokenFor(street.other.clientId.replace(/.{8}$/, randomUUID().slice(0, 8))),
    fieldsOf: (authToken) => ({ authToken }),
  },
];

/** A wire of each protocol; in the quick form each call is timed once, and each protocol has a call. */
const PROTOCOLS = ['rest', 'connect', 'grpc-web', 'grpc'].flatMap(
  (protocol) => WIRES.find((wire) => wire.protocol === protocol) ?? [],
);
const PAIRS = PROTOCOLS.flatMap((wire) =>
  COMPARISONS.filter(({ method }) => carries(wire, method)).map((comparison) => ({ wire, comparison })),
);
const TRIED = PAIRS.filter((_, at) => quickOrLong(at % 4 === 1, true));

describe('what is foreign takes as long as what is missing', () => {
  test.for(TRIED.map((pair) => [`${pair.comparison.name} over ${pair.wire.name}`, pair] as const))(
    '%s',
    async ([name, { wire, comparison }], context) => {
      const { method, fieldsOf } = comparison;
      const [foreign, missing] = [await collect(comparison.foreign), await collect(comparison.missing)];
      const areas: number[] = [];
      while (areas.length < ATTEMPTS && !areas.some(isInBand)) {
        areas.push(
          await compareTimes(wire, method, { foreign: foreign.map(fieldsOf), missing: missing.map(fieldsOf) }),
        );
      }
      const figures = `AUC ${areas.map((area) => area.toFixed(3)).join(', then ')}, within ${BAND.toFixed(3)} of 0.5`;
      const lost = areas.some(isInBand) ? 'nothing' : 'they differ';
      report(context, { tried: `${name}: ${SAMPLES} foreign and ${SAMPLES} missing, interleaved`, lost, figures });
      expect(areas.some(isInBand), figures).toBe(true);
    },
  );

  test('and a query more would be seen', async () => {
    const [wire] = PROTOCOLS;
    if (!wire) throw new Error('There is no protocol');
    const foreign = (await collect(unknownWebhookId)).map((webhookId) => ({ webhookId }));
    const area = await compareTimes(wire, getWebhook, { foreign, missing: [{ webhookId: 'wh_0123' }] });
    expect(area).toBeGreaterThan(0.5 + BAND);
  });
});

function isInBand(area: number): boolean {
  return Math.abs(area - 0.5) <= BAND;
}

async function collect(make: () => Promise<string> | string): Promise<string[]> {
  return Promise.all(Array.from({ length: TARGETS }, make));
}

/** The AUC: how likely a foreign one takes longer than a missing one. */
async function compareTimes(
  wire: Wire,
  method: DescMethodUnary,
  fields: Record<'foreign' | 'missing', readonly JsonObject[]>,
): Promise<number> {
  using client = openWireClient(service.url, wire);
  const headers = { 'x-api-key': street.tenant.apiKey, 'x-request-id': 'the-same-for-all' };
  const times = { foreign: [] as number[], missing: [] as number[] };
  const measure = async (side: keyof typeof times) => {
    const target = fields[side][Math.floor(Math.random() * fields[side].length)];
    const request = toRequest(wire, { method, fields: target ?? {}, headers });
    const startedAt = performance.now();
    await client.send(request);
    return performance.now() - startedAt;
  };
  for (let sample = -WARM_UP; sample < SAMPLES; sample++) {
    const sides = Math.random() < 0.5 ? (['foreign', 'missing'] as const) : (['missing', 'foreign'] as const);
    for (const side of sides) {
      const took = await measure(side);
      if (sample >= 0) times[side].push(took);
    }
  }
  return areaUnderCurve(times.missing, times.foreign);
}
