/** RPCs that are broken on the wire: the caller is told what is wrong, and the service is none the worse. */
import { gzipSync } from 'node:zlib';
import { create, fromBinary, fromJsonString, toBinary, toJsonString } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HealthCheckResponseSchema } from '../../gen/health/v1/health_pb.ts';
import { GetWebhookRequestSchema, GetWebhookResponseSchema } from '../../gen/usher/v1/webhook_pb.ts';
import { ended, openHttp2Session, readReply } from '../support/http2-session.ts';
import {
  frame,
  openWireClient,
  PROTOCOLS,
  type WireClient,
  type WireProtocol,
  type WireReply,
} from '../support/rpc-wire.ts';
import {
  clientsOf,
  createTenant,
  createTestUser,
  startTestService,
  type Tenant,
  type TestService,
} from '../support/service.ts';

const PROCEDURE = '/usher.v1.WebhookService/GetWebhook';
/** How long the service waits for a body. */
const REQUEST_TIMEOUT_MS = 2_000;
const MAX_MESSAGE_BYTES = 65_536;

let service: TestService;
let tenant: Tenant;
let webhookId: string;

beforeAll(async () => {
  service = await startTestService({ config: { requestTimeoutMs: REQUEST_TIMEOUT_MS, shutdownTimeoutMs: 500 } });
  tenant = await createTenant(service);
  const owner = await createTestUser(service);
  const { webhook } = await clientsOf(service, tenant).webhooks.createWebhook({
    url: 'https://example.com/hooks',
    ownerId: owner.id,
  });
  webhookId = webhook?.webhookId ?? '';
});

afterAll(() => service.close());

/** What a call comes to; `status` is that of HTTP where the protocol uses it. */
interface Expected {
  readonly code: string;
  readonly message: string | RegExp;
  readonly fields?: readonly string[];
  readonly status: number;
}

const malformed: Expected = { code: 'InvalidArgument', message: 'Validation failed', fields: ['body'], status: 400 };
const tooLarge: Expected = { code: 'ResourceExhausted', message: /65536/, fields: [], status: 413 };
const noWebhookId: Expected = { ...malformed, fields: ['webhookId'] };
const notAnId: Expected = { code: 'InvalidArgument', message: 'Invalid webhook ID format', fields: [], status: 400 };

interface Case {
  readonly body: Uint8Array | string;
  readonly headers?: Record<string, string>;
  readonly expected: Expected;
}

const BINARY_MESSAGES: readonly { title: string; message: Uint8Array; expected: Expected }[] = [
  { title: 'bytes that are no message', message: hex('ffffffff'), expected: malformed },
  { title: 'a truncated varint', message: hex('0aff'), expected: malformed },
  { title: 'a varint of eleven bytes', message: hex('08ffffffffffffffffffff01'), expected: malformed },
  { title: 'a string that ends beyond the message', message: hex('0a7f61'), expected: malformed },
  { title: 'a string of 4 GiB', message: hex('0affffffff0f61'), expected: malformed },
  { title: 'a wire type that does not exist', message: hex('0f'), expected: malformed },
  { title: 'the field number zero', message: hex('0000'), expected: malformed },
  { title: 'the end of a group that has not begun', message: hex('0c'), expected: malformed },
  { title: 'a group that does not end', message: hex('13'), expected: malformed },
  { title: 'groups 60,000 deep', message: Buffer.alloc(60_000, 0x13), expected: malformed },
  { title: 'a string that is not UTF-8', message: hex('0a02c328'), expected: malformed },
  { title: 'a string with a surrogate in UTF-8', message: hex('0a03eda080'), expected: malformed },
  { title: 'a string with NUL', message: hex('0a03610062'), expected: noWebhookId },
  { title: 'no message at all', message: hex(''), expected: noWebhookId },
];

const JSON_MESSAGES: readonly { title: string; message: Uint8Array | string; expected: Expected }[] = [
  { title: 'bytes that are no JSON', message: '{"webhookId":', expected: malformed },
  { title: 'nothing', message: '', expected: malformed },
  { title: 'an array', message: '[]', expected: malformed },
  { title: 'a string', message: '"wh_"', expected: malformed },
  { title: 'null', message: 'null', expected: malformed },
  { title: 'two objects', message: '{}{}', expected: malformed },
  { title: 'arrays 60,000 deep', message: '['.repeat(60_000), expected: malformed },
  { title: 'a string that is not UTF-8', message: Buffer.from('{"webhookId":"\xff"}', 'latin1'), expected: malformed },
  { title: 'a field of another type', message: '{"webhookId":7}', expected: noWebhookId },
  { title: 'a field that is null', message: '{"webhookId":null}', expected: noWebhookId },
  { title: 'a lone surrogate', message: '{"webhookId":"\\ud800"}', expected: noWebhookId },
  { title: 'a string with NUL', message: '{"webhookId":"a\\u0000b"}', expected: noWebhookId },
  { title: 'an empty object', message: '{}', expected: noWebhookId },
];

describe.each(PROTOCOLS)('$name', (protocol) => {
  describe('malformed messages', () => {
    test.each(protocol.isJson ? JSON_MESSAGES : BINARY_MESSAGES)('$expected.code for $title', ({ message, expected }) =>
      expectOutcome(protocol, { body: protocol.wrap(message), expected }),
    );

    test('InvalidArgument for protobuf where JSON is announced, and the reverse', () =>
      expectOutcome(protocol, {
        body: protocol.wrap(protocol.isJson ? hex('0a0177') : '{"webhookId":"wh_"}'),
        expected: malformed,
      }));
  });

  describe('compression', () => {
    const gzipped = gzipSync(messageOf(protocol, 'wh_'.padEnd(1_000, 'a')));

    test.each([
      { title: 'truncated gzip', message: gzipped.subarray(0, -12), encoding: 'gzip', expected: malformed },
      {
        title: 'gzip with a wrong checksum',
        message: flip(gzipped, gzipped.length - 6),
        encoding: 'gzip',
        expected: malformed,
      },
      { title: 'bytes that are no gzip', message: Buffer.from('plain'), encoding: 'gzip', expected: malformed },
      { title: 'gzip announced as brotli', message: gzipped, encoding: 'br', expected: malformed },
      {
        title: 'a compression that is unknown',
        message: gzipped,
        encoding: 'zstd',
        expected: { code: 'Unimplemented', message: /^unknown compression "zstd"/, fields: [], status: 501 },
      },
      {
        title: 'gzip of a message that is too large',
        message: gzipSync(Buffer.alloc(MAX_MESSAGE_BYTES + 1)),
        encoding: 'gzip',
        expected: tooLarge,
      },
      {
        title: 'a decompression bomb',
        message: gzipSync(Buffer.alloc(40_000_000)),
        encoding: 'gzip',
        expected: tooLarge,
      },
    ])('$expected.code for $title', ({ message, encoding, expected }) =>
      expectOutcome(protocol, {
        body: protocol.wrap(message, { isCompressed: true }),
        headers: { [protocol.encodingHeader]: encoding },
        expected,
      }),
    );

    test('a message in gzip is understood', () =>
      expectOutcome(protocol, {
        body: protocol.wrap(gzipped, { isCompressed: true }),
        headers: { [protocol.encodingHeader]: 'gzip' },
        expected: notAnId,
      }));
  });

  describe('size', () => {
    test('ResourceExhausted for a message of one byte above 64 KiB', () =>
      expectOutcome(protocol, {
        body: protocol.wrap(Buffer.alloc(MAX_MESSAGE_BYTES + 1)),
        expected: tooLarge,
      }));

    test('ResourceExhausted for a message of 1 MB', () =>
      expectOutcome(protocol, { body: protocol.wrap(Buffer.alloc(1_000_000)), expected: tooLarge }));

    test('a message of exactly 64 KiB is read', () =>
      expectOutcome(protocol, {
        body: protocol.wrap(messageOf(protocol, 'a'.repeat(MAX_MESSAGE_BYTES - (protocol.isJson ? 16 : 4)))),
        expected: notAnId,
      }));
  });

  describe('addresses', () => {
    test.each([
      ['an unknown method', '/usher.v1.WebhookService/Nothing'],
      ['an unknown service', '/usher.v1.NothingService/GetWebhook'],
      ['a method of REST', '/usher.v1.WebhookService/getWebhook'],
    ])('Unimplemented for %s', async (_, path) => {
      using client = openWireClient(service.url, protocol);
      const reply = await client.send({ path, headers: headersOf(protocol), body: validBody(protocol) });

      expect(reply.status).toBe(protocol.isFramed ? 200 : 404);
      expectRequestId(reply);
      expect(protocol.read(reply)).toMatchObject({ code: 'Unimplemented', message: 'Unknown method' });
      await expectHealthy(client, protocol);
    });

    test.each(['GET', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])('405 for %s, with a body in JSON', async (method) => {
      using client = openWireClient(service.url, protocol);
      const reply = await client.send({ path: PROCEDURE, method, headers: headersOf(protocol) });

      expectHttpError(reply, 405, { code: 'unimplemented', message: 'Method not allowed' });
      expect(reply.headers.allow).toBe('POST');
      await expectHealthy(client, protocol);
    });

    test.each([
      'text/plain',
      'application/xml',
      `${protocol.contentType}+xml`,
      'application/grpc+xml',
      'application/connect+json',
      ';',
    ])('415 for the content type %j, with a body in JSON', async (contentType) => {
      using client = openWireClient(service.url, protocol);
      const reply = await client.send({
        path: PROCEDURE,
        headers: { ...headersOf(protocol), 'content-type': contentType },
        body: validBody(protocol),
      });

      expectHttpError(reply, 415, { code: 'invalid_argument', message: 'Unsupported media type' });
      await expectHealthy(client, protocol);
    });

    test('415 without a content type, with a body in JSON', async () => {
      using client = openWireClient(service.url, protocol);
      const { 'content-type': _, ...headers } = headersOf(protocol);
      const reply = await client.send({ path: PROCEDURE, headers, body: validBody(protocol) });

      expectHttpError(reply, 415, { code: 'invalid_argument', message: 'Unsupported media type' });
      await expectHealthy(client, protocol);
    });

    test.each(['[', 'x:99999', '1.2.3.256'])('400 for the host %j, with a body in JSON', async (host) => {
      using client = openWireClient(service.url, protocol);
      const reply = await client.send({
        path: PROCEDURE,
        headers: { ...headersOf(protocol), host },
        body: validBody(protocol),
      });

      expect(reply.status).toBe(400);
      expectRequestId(reply);
      expect(JSON.parse(reply.bytes.toString())).toEqual({ status: false, message: 'Invalid host' });
      await expectHealthy(client, protocol);
    });
  });

  describe('timeouts', () => {
    const isConnect = protocol.timeoutHeader === 'connect-timeout-ms';

    test.each(
      isConnect
        ? ['9999999999', '2147483648', '4294967296', '1000']
        : ['99999999H', '99999999S', '99999999m', '1S', '00000001H'],
    )('the call succeeds with a timeout of %s', async (timeout) => {
      using client = openWireClient(service.url, protocol);
      const reply = await client.send({
        path: PROCEDURE,
        headers: { ...headersOf(protocol), [protocol.timeoutHeader]: timeout },
        body: validBody(protocol),
      });

      expectWebhook(protocol, reply);
    });

    test.each(
      isConnect
        ? ['soon', '-1', '1.5', '99999999999', '1s', '0x10', '']
        : ['soon', '-1S', '1.5S', '999999999S', '1', 'S', '1s', ''],
    )('InvalidArgument for the timeout %j', (timeout) =>
      expectOutcome(protocol, {
        body: validBody(protocol),
        headers: { [protocol.timeoutHeader]: timeout },
        expected: { code: 'InvalidArgument', message: /timeout/, fields: [], status: 400 },
      }),
    );
  });

  test('Unauthenticated for a wrong key with a malformed body', () =>
    expectOutcome(protocol, {
      body: hex('ffffffffffff'),
      headers: { 'x-api-key': 'wrong' },
      expected: { code: 'Unauthenticated', message: 'Invalid API key', fields: [], status: 401 },
    }));
});

test.each(PROTOCOLS.filter(({ isJson }) => isJson))(
  'no event is created under an ID that is not UTF-8 over $name',
  async (protocol) => {
    using client = openWireClient(service.url, protocol);
    const reply = await client.send({
      path: '/usher.v1.EventService/CreateEvent',
      headers: headersOf(protocol),
      body: Buffer.from(`{"eventId":"${protocol.httpVersion}\xff"}`, 'latin1'),
    });

    expect(protocol.read(reply)).toMatchObject({ code: 'InvalidArgument', message: 'Validation failed' });
    expect(await service.database.sql`select id from events`).toEqual([]);
  },
);

test.each(
  PROTOCOLS.filter(({ isFramed }) => isFramed).flatMap((protocol) =>
    ['"\\ud800"', '{"\\udc00":1}', '[["\\ud800"]]'].map((json) => ({ ...protocol, json })),
  ),
)('InvalidArgument for the JSON $json, which no error can quote, over $name', async ({ json, ...protocol }) => {
  using client = openWireClient(service.url, protocol);
  const contentType = protocol.contentType.replace('proto', 'json');
  const headers = { ...headersOf(protocol), 'content-type': contentType };
  const reply = await client.send({ path: PROCEDURE, headers, body: protocol.wrap(json) });

  expect(protocol.read(reply)).toMatchObject({ code: 'InvalidArgument', message: 'Validation failed' });
  await expectHealthy(client, protocol);
});

describe.each(PROTOCOLS.filter(({ isFramed }) => isFramed))('frames of $name', (protocol) => {
  const message = messageOf(protocol, 'wh_');
  const cardinality = { code: 'Unimplemented', message: /^protocol error/, fields: [], status: 200 };

  test.each<Case & { readonly title: string }>([
    { title: 'a frame of 4 GiB', body: frame(message, { length: 0xffff_ffff }), expected: tooLarge },
    { title: 'a frame of 1 MB that is not there', body: frame(message, { length: 1_000_000 }), expected: tooLarge },
    { title: 'a truncated frame', body: frame(message, { length: 100 }), expected: malformed },
    { title: 'a truncated frame header', body: hex('000000'), expected: malformed },
    {
      title: 'flags that mean nothing, which are ignored,',
      body: frame(message, { flags: 0x7e }),
      expected: notAnId,
    },
    { title: 'a compressed frame with no encoding', body: frame(message, { flags: 1 }), expected: malformed },
    {
      title: 'a compressed frame with the encoding identity',
      body: frame(message, { flags: 1 }),
      headers: { 'grpc-encoding': 'identity' },
      expected: malformed,
    },
    { title: 'two messages', body: Buffer.concat([frame(message), frame(message)]), expected: cardinality },
    { title: 'no message', body: hex(''), expected: cardinality },
    { title: 'a message and half of another', body: Buffer.concat([frame(message), hex('0000')]), expected: malformed },
  ])('$expected.code for $title', (row) => expectOutcome(protocol, row));

  test('a frame that is empty is a message without fields', () =>
    expectOutcome(protocol, { body: frame(''), expected: noWebhookId }));
});

describe.each(PROTOCOLS.filter(({ httpVersion }) => httpVersion === '2'))(
  'a body that goes on and on over $name',
  (protocol) => {
    test('is refused as too large, and its stream is ended, and no other', async () => {
      using client = openHttp2Session(service.url);
      const request = { ':method': 'POST', ':path': PROCEDURE, ...headersOf(protocol) };
      const stream = client.open(request);
      if (protocol.isFramed) stream.write(frame('', { length: 100_000_000 }));
      const timer = setInterval(() => stream.writable && stream.write(Buffer.alloc(16_384, 'a')), 1);
      try {
        expect(protocol.read(await readReply(stream))).toMatchObject({ code: 'ResourceExhausted' });
        await ended(stream);
      } finally {
        clearInterval(timer);
      }
      expectWebhook(protocol, await client.exchange(request, validBody(protocol)));
    });
  },
);

describe('streams', () => {
  const grpc = PROTOCOLS.filter(({ name }) => name === 'gRPC over HTTP/2');
  const reflection = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';

  test.each(
    grpc.flatMap((protocol) => [
      { title: 'bytes that are no message', body: frame(hex('ffffffff')), protocol },
      { title: 'a truncated frame', body: frame('abc', { length: 100 }), protocol },
      { title: 'a compressed frame with no encoding', body: frame('', { flags: 1 }), protocol },
    ]),
  )('InvalidArgument for $title in a stream of requests', async ({ body, protocol }) => {
    using client = openWireClient(service.url, protocol);
    const reply = await client.send({ path: reflection, headers: headersOf(protocol), body });

    expect(protocol.read(reply)).toMatchObject({ code: 'InvalidArgument', message: 'Validation failed' });
    await expectHealthy(client, protocol);
  });

  test.each(grpc)('a stream of replies ends at the deadline of its caller', async (protocol) => {
    using client = openHttp2Session(service.url);
    const stream = client.open({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Watch',
      ...headersOf(protocol),
      'grpc-timeout': '100m',
    });
    stream.end(frame(''));

    const { headers, trailers, bytes } = await readReply(stream, { patienceMs: 2_000 });
    expect(fromBinary(HealthCheckResponseSchema, bytes.subarray(5))).toMatchObject({ status: 1 });
    expect({ ...headers, ...trailers }).toMatchObject({ 'grpc-status': '4' });
  });
});

describe('a body that stops arriving', () => {
  test.each(PROTOCOLS.filter(({ httpVersion }) => httpVersion === '2'))(
    'ends in DeadlineExceeded over $name',
    async (protocol) => {
      using client = openHttp2Session(service.url);
      const stream = client.open({ ':method': 'POST', ':path': PROCEDURE, ...headersOf(protocol) });
      stream.write(validBody(protocol).subarray(0, 10));

      const reply = await readReply(stream);
      expect(protocol.read(reply)).toMatchObject({ code: 'DeadlineExceeded', message: 'Deadline exceeded' });
      expectWebhook(
        protocol,
        await client.exchange({ ':method': 'POST', ':path': PROCEDURE, ...headersOf(protocol) }, validBody(protocol)),
      );
    },
  );
});

describe('a caller that gives no time', () => {
  test.each(
    PROTOCOLS.flatMap((protocol) =>
      (protocol.timeoutHeader === 'grpc-timeout' ? ['0S', '0n'] : ['0']).map((timeout) => ({ protocol, timeout })),
    ),
  )('has DeadlineExceeded for $timeout over $protocol.name', ({ protocol, timeout }) =>
    expectOutcome(protocol, {
      body: validBody(protocol),
      headers: { [protocol.timeoutHeader]: timeout },
      expected: { code: 'DeadlineExceeded', message: 'Deadline exceeded', fields: [], status: 504 },
    }),
  );

  test('does not make the calls of others fail', async () => {
    await using fresh = await startTestService();
    const { apiKey } = await createTenant(fresh);
    const [protocol] = PROTOCOLS;
    if (!protocol) throw new Error('There is no protocol');
    const callWith = async (headers: Record<string, string>) => {
      using client = openWireClient(fresh.url, protocol);
      const reply = await client.send({
        path: PROCEDURE,
        headers: { 'content-type': protocol.contentType, 'x-api-key': apiKey, ...headers },
        body: validBody(protocol),
      });
      return protocol.read(reply).message;
    };

    const hasty = Array.from({ length: 20 }, () => callWith({ 'connect-timeout-ms': '1' }));
    const patient = Array.from({ length: 20 }, () => callWith({}));
    await Promise.all(hasty);
    patient.push(callWith({}));
    expect(new Set(await Promise.all(patient))).toEqual(new Set(['Webhook not found']));
  });
});

async function expectOutcome(protocol: WireProtocol, { body, headers, expected }: Case): Promise<void> {
  using client = openWireClient(service.url, protocol);
  const reply = await client.send({ path: PROCEDURE, headers: { ...headersOf(protocol), ...headers }, body });

  const { payload: _, ...outcome } = protocol.read(reply);
  const { code, message, fields } = expected;
  expect(outcome).toEqual({
    code,
    message: typeof message === 'string' ? message : expect.stringMatching(message),
    fields,
  });
  expect(reply.status).toBe(protocol.isFramed ? 200 : expected.status);
  expectRequestId(reply);
  await expectHealthy(client, protocol);
}

/** The connection is still of use, or, where the server had to close it, a new one is. */
async function expectHealthy(client: WireClient, protocol: WireProtocol): Promise<void> {
  expectWebhook(
    protocol,
    await client.send({ path: PROCEDURE, headers: headersOf(protocol), body: validBody(protocol) }),
  );
}

function expectWebhook(protocol: WireProtocol, reply: WireReply): void {
  const { code, payload } = protocol.read(reply);
  expect(code).toBe('Ok');
  const { webhook } = protocol.isJson
    ? fromJsonString(GetWebhookResponseSchema, payload.toString())
    : fromBinary(GetWebhookResponseSchema, payload);
  expect(webhook?.webhookId).toBe(webhookId);
}

function expectHttpError(reply: WireReply, status: number, body: { code: string; message: string }): void {
  expect(reply.status).toBe(status);
  expect(reply.headers['content-type']).toBe('application/json');
  expect(JSON.parse(reply.bytes.toString())).toEqual(body);
  expectRequestId(reply);
}

function expectRequestId(reply: WireReply): void {
  expect(reply.headers['x-request-id']).toMatch(/^[\w.:+/=-]{1,128}$/);
}

function headersOf({ contentType }: WireProtocol): Record<string, string> {
  return { 'content-type': contentType, 'x-api-key': tenant.apiKey };
}

function validBody(protocol: WireProtocol): Uint8Array {
  return protocol.wrap(messageOf(protocol, webhookId));
}

function messageOf({ isJson }: WireProtocol, id: string): Uint8Array {
  const message = create(GetWebhookRequestSchema, { webhookId: id });
  return isJson
    ? Buffer.from(toJsonString(GetWebhookRequestSchema, message))
    : toBinary(GetWebhookRequestSchema, message);
}

function hex(digits: string): Buffer {
  return Buffer.from(digits, 'hex');
}

function flip(bytes: Uint8Array, index: number): Buffer {
  const flipped = Buffer.from(bytes);
  flipped[index] = (flipped[index] ?? 0) ^ 0xff;
  return flipped;
}
