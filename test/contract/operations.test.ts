/** What holds for every operation, and for every protocol. Each operation's own rules are in its own file. */
import { type DescField, fromJson, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import { Code, ConnectError, createContextValues } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BadRequestSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { OPERATIONS } from '../../src/api/catalogue.ts';
import { refusal, validationFailed, without } from '../support/answers.ts';
import {
  answerOf,
  CONNECT,
  call,
  mainProtocolOf,
  PROTOCOLS,
  protocolNamed,
  REST,
  RPC_PROTOCOLS,
  send,
  supports,
  withInvalidUtf8,
} from '../support/protocols.ts';
import { credentialFor, type SampleFixture, sampleFields, sampleOf } from '../support/samples.ts';
import { ADMIN_KEY, createTenant, createTestEvent, startTestService } from '../support/service.ts';

const CONNECT_BINARY = protocolNamed('Connect binary over HTTP/1.1');
const WRONG_TYPES: readonly JsonValue[] = [1, true, [1], { text: 'text' }, 'a\ud800b'];
const MISSING_WEBHOOK = { webhookId: `wh_${'0'.repeat(32)}` };
const { getWebhook } = WebhookService.method;

let fixture: SampleFixture;
let close: () => Promise<void>;

beforeAll(async () => {
  const service = await startTestService();
  close = () => service.close();
  fixture = { service, tenant: await createTenant(service) };
});

afterAll(() => close());

const operations = OPERATIONS.map((operation) => ({ ...operation, name: operation.method.name }));

describe.each(operations)('$name', (operation) => {
  const { method } = operation;
  const main = mainProtocolOf(method);
  const headers = () => credentialFor(operation, fixture.tenant);
  const required = () => sampleOf(method).required(fixture);
  const isText = ({ fieldKind, scalar }: DescField) => (scalar ?? (fieldKind === 'list' ? 9 : 0)) === 9;
  const fields = method.input.fields.filter(isText).map(({ jsonName }) => jsonName);

  it('succeeds over every protocol, and no reply may be stored', async () => {
    for (const protocol of PROTOCOLS.filter((each) => supports(each, method))) {
      const request = { method, fields: await sampleFields(method, fixture), headers: headers() };
      const reply = await send(protocol, fixture.service.url, request);
      expect(answerOf(protocol, method, reply).code, protocol.name).toBe('ok');
      expect(reply, protocol.name).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    }
  });

  it('returns the same fields over every RPC protocol', async () => {
    const shapes = RPC_PROTOCOLS.map(async (protocol) => {
      const answer = await call(protocol, fixture.service.url, method, await sampleFields(method, fixture), headers());
      return shapeOf(answer.data);
    });
    expect(new Set((await Promise.all(shapes)).map((shape) => JSON.stringify(shape))).size).toBe(1);
  });

  it('returns Validation failed for each required field that is missing', async () => {
    const valid = await required();
    for (const field of Object.keys(valid)) {
      const answer = await call(main, fixture.service.url, method, without(valid, field), headers());
      expect(answer).toEqual(validationFailed(field));
    }
  });

  it('returns Validation failed with every field that is missing', async () => {
    const answer = await call(main, fixture.service.url, method, {}, headers());
    expect(answer).toEqual(validationFailed(...Object.keys(await required())));
  });

  it('returns Validation failed for a field of another JSON type', async () => {
    const valid = await sampleFields(method, fixture);
    for (const [field, value] of fields.flatMap((field) => WRONG_TYPES.map((value) => [field, value] as const))) {
      const answer = await call(CONNECT, fixture.service.url, method, { ...valid, [field]: value }, headers());
      expect(answer, `${field}: ${JSON.stringify(value)}`).toEqual(validationFailed(field));
      if (operation.route?.fields[field] !== 'body') continue;
      const inRest = await call(REST, fixture.service.url, method, { ...valid, [field]: value }, headers());
      expect(inRest, `${field} in REST: ${JSON.stringify(value)}`).toEqual(validationFailed(field));
    }
  });

  it('returns Validation failed for a field that is not UTF-8', async () => {
    const valid = await required();
    for (const field of fields) {
      const body = withInvalidUtf8(CONNECT_BINARY, method, valid, field);
      const reply = await send(CONNECT_BINARY, fixture.service.url, { method, body, headers: headers() });
      expect(answerOf(CONNECT_BINARY, method, reply), field).toMatchObject({ message: 'Validation failed' });
    }
  });
});

describe.each(PROTOCOLS)('$name', (protocol) => {
  const apiKey = () => ({ 'x-api-key': fixture.tenant.apiKey });

  it.each<[number, () => JsonObject, () => Record<string, string>, object]>([
    [400, () => ({ webhookId: '' }), apiKey, validationFailed('webhookId')],
    [400, () => ({ webhookId: 'webhook' }), apiKey, refusal('invalid_argument', 'Invalid webhook ID format')],
    [401, () => MISSING_WEBHOOK, () => ({}), refusal('unauthenticated', 'Invalid API key')],
    [404, () => MISSING_WEBHOOK, apiKey, refusal('not_found', 'Webhook not found')],
  ])('answers with %i, or with 200 and the status of gRPC', async (status, fields, headers, expected) => {
    const request = { method: getWebhook, fields: fields(), headers: headers() };
    const reply = await send(protocol, fixture.service.url, request);
    expect(reply).toMatchObject({ status: protocol.isFramed ? 200 : status, headers: { 'cache-control': 'no-store' } });
    expect(answerOf(protocol, getWebhook, reply)).toEqual(expected);
  });

  it('returns Validation failed for text that is not UTF-8', async () => {
    if (protocol.kind === 'rest') return;
    const body = withInvalidUtf8(protocol, getWebhook, {}, 'webhookId');
    const reply = await send(protocol, fixture.service.url, { method: getWebhook, body, headers: apiKey() });
    expect(answerOf(protocol, getWebhook, reply)).toMatchObject({
      code: 'invalid_argument',
      message: 'Validation failed',
    });
  });
});

describe.each(RPC_PROTOCOLS)('$name', (protocol) => {
  const { createEvent, checkIn } = EventService.method;
  const { completeLogin } = AdminService.method;

  it('names an event that exists already', async () => {
    const eventId = await createTestEvent(fixture.service, fixture.tenant);
    const headers = { 'x-api-key': fixture.tenant.apiKey };
    const answer = await call(protocol, fixture.service.url, createEvent, { eventId }, headers);
    expect(answer).toEqual(refusal('already_exists', 'Event already exists'));
  });

  it('names a login that has been completed already', async () => {
    const fields = await sampleFields(completeLogin, fixture);
    const headers = { 'x-admin-key': ADMIN_KEY };
    await call(protocol, fixture.service.url, completeLogin, fields, headers);
    const answer = await call(protocol, fixture.service.url, completeLogin, fields, headers);
    expect(answer).toEqual(refusal('failed_precondition', 'Login intent already completed'));
  });

  it('says so where a boolean is false', async () => {
    const fields = await sampleFields(checkIn, fixture);
    const headers = { 'x-api-key': fixture.tenant.apiKey };
    const answer = await call(protocol, fixture.service.url, checkIn, fields, headers);
    expect(answer).toMatchObject({ code: 'ok', data: { alreadyCheckedIn: false } });
  });
});

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
      const baseUrl = fixture.service.url;
      const transport = createTransport({ baseUrl, httpVersion, useBinaryFormat: isBinary });
      const unary = (fields: JsonObject) => {
        const headers = { 'x-api-key': fixture.tenant.apiKey };
        const message = fromJson(getWebhook.input, fields);
        return transport.unary(getWebhook, undefined, undefined, headers, message, createContextValues());
      };
      const fields = await sampleFields(getWebhook, fixture);
      expect((await unary(fields)).message.webhook?.webhookId).toBe(fields.webhookId);
      const error = await unary({}).catch(ConnectError.from);
      if (!(error instanceof ConnectError)) throw new Error('Nothing was refused');
      expect(error).toMatchObject({ code: Code.InvalidArgument, rawMessage: 'Validation failed' });
      expect(error.findDetails(BadRequestSchema)).toMatchObject([
        { fieldViolations: [{ field: 'webhookId', description: 'is required' }] },
      ]);
    },
  );
});

/** Returns the JSON with the type of each value in the place of the value. */
function shapeOf(data: JsonValue | undefined): unknown {
  if (Array.isArray(data)) return data.map(shapeOf);
  if (typeof data !== 'object' || data === null) return typeof data;
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, shapeOf(value)]));
}
