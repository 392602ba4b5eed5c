/** What holds for every operation, and for every protocol. What fields they refuse: test/integration/reference/openapi.test.ts. */
import { fromJson, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import { Code, ConnectError, createContextValues } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { describe, expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { refusal, validationFailed } from '../support/answers.ts';
import { readErrorDetails } from '../support/error-details.ts';
import { OPERATIONS } from '../support/operations.ts';
import {
  answerOf,
  CONNECT,
  call,
  PROTOCOLS,
  protocolNamed,
  REST,
  RPC_PROTOCOLS,
  send,
  supports,
} from '../support/protocols.ts';
import { credentialFor, sampleFields } from '../support/samples.ts';
import { ADMIN_KEY, createTestEvent } from '../support/service.ts';
import { openContractFixture } from './contract-fixture.ts';

const MISSING_WEBHOOK = { webhookId: `wh_${'0'.repeat(32)}` };
const { getWebhook } = WebhookService.method;
/** One protocol of each format. All protocols: below, with one operation. */
const WIRE_FORMATS = [REST, CONNECT, protocolNamed('gRPC over HTTP/2')];

const fixture = await openContractFixture();
const { service, tenant, credentials } = fixture;
const operations = OPERATIONS.map((operation) => ({ ...operation, name: operation.method.name }));

describe.each(operations)('$name', (operation) => {
  const { method } = operation;
  const headers = credentialFor(operation, tenant);

  it('succeeds over REST and over RPC in JSON and binary, with the same fields, and no reply may be stored', async () => {
    const shapes = new Set<string>();
    for (const protocol of WIRE_FORMATS.filter((each) => supports(each, method))) {
      const request = { method, fields: await sampleFields(method, fixture), headers };
      const reply = await send(protocol, service.url, request);
      const { code, data } = answerOf(protocol, method, reply);
      expect(code, protocol.name).toBe('ok');
      const status = protocol.kind === 'rest' ? operation.route?.status : 200;
      expect(reply, protocol.name).toMatchObject({ status, headers: { 'cache-control': 'no-store' } });
      if (protocol.kind !== 'rest') shapes.add(JSON.stringify(shapeOf(data)));
    }
    expect(shapes.size).toBe(1);
  });
});

describe.each(PROTOCOLS)('$name', (protocol) => {
  it.each<[number, JsonObject, Record<string, string>, object]>([
    [400, { webhookId: '' }, credentials, validationFailed('webhookId')],
    [400, { webhookId: 'webhook' }, credentials, refusal('invalid_argument', 'Invalid webhook ID format')],
    [401, MISSING_WEBHOOK, {}, refusal('unauthenticated', 'Invalid API key')],
    [404, MISSING_WEBHOOK, credentials, refusal('not_found', 'Webhook not found')],
  ])('answers with %i, or with 200 and the status of gRPC', async (status, fields, headers, expected) => {
    const reply = await send(protocol, service.url, { method: getWebhook, fields, headers });
    expect(reply).toMatchObject({ status: protocol.isFramed ? 200 : status, headers: { 'cache-control': 'no-store' } });
    expect(answerOf(protocol, getWebhook, reply)).toEqual(expected);
  });
});

it.each(RPC_PROTOCOLS)(
  '$name tells what exists or is completed already, and that a boolean is false',
  async (protocol) => {
    const { createEvent, checkIn } = EventService.method;
    const { completeLogin } = AdminService.method;
    const callTo = (method: typeof createEvent | typeof checkIn | typeof completeLogin, fields: JsonObject) =>
      call(protocol, service.url, method, fields, { ...credentials, 'x-admin-key': ADMIN_KEY });

    const eventId = await createTestEvent(service, tenant);
    expect(await callTo(createEvent, { eventId })).toEqual(refusal('already_exists', 'Event already exists'));
    const login = await sampleFields(completeLogin, fixture);
    await callTo(completeLogin, login);
    const completed = refusal('failed_precondition', 'Login intent already completed');
    expect(await callTo(completeLogin, login)).toEqual(completed);
    const checkedIn = await callTo(checkIn, await sampleFields(checkIn, fixture));
    expect(checkedIn).toMatchObject({ code: 'ok', data: { alreadyCheckedIn: false } });
  },
);

describe("Connect's own client", () => {
  it.each([
    ['Connect JSON', createConnectTransport, '1.1', false],
    ['Connect binary', createConnectTransport, '2', true],
    ['gRPC-Web', createGrpcWebTransport, '1.1', true],
    ['gRPC-Web', createGrpcWebTransport, '2', true],
    ['gRPC', createGrpcTransport, '2', true],
  ] as const)(
    'reads successes, errors and their details over %s',
    async (_, createTransport, httpVersion, isBinary) => {
      const transport = createTransport({ baseUrl: service.url, httpVersion, useBinaryFormat: isBinary });
      const unary = (fields: JsonObject) => {
        const message = fromJson(getWebhook.input, fields);
        return transport.unary(getWebhook, undefined, undefined, credentials, message, createContextValues());
      };
      const fields = await sampleFields(getWebhook, fixture);
      expect((await unary(fields)).message.webhook?.webhookId).toBe(fields.webhookId);
      const error = await unary({}).catch(ConnectError.from);
      if (!(error instanceof ConnectError)) throw new Error('Nothing was refused');
      expect(error).toMatchObject({ code: Code.InvalidArgument, rawMessage: 'Validation failed' });
      expect(readErrorDetails(error)).toMatchObject({
        info: { reason: 'VALIDATION_FAILED', domain: 'usher' },
        fieldViolations: [{ field: 'webhookId', description: 'is required' }],
      });
    },
  );
});

/** Returns the JSON with the type of each value in the place of the value. */
function shapeOf(data: JsonValue | undefined): unknown {
  if (Array.isArray(data)) return data.map(shapeOf);
  if (typeof data !== 'object' || data === null) return typeof data;
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, shapeOf(value)]));
}
