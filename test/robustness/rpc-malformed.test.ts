/** Malformed RPCs, byte for byte: the caller learns what is wrong, and the connection stays of use. */
import { gzipSync } from 'node:zlib';
import { create, fromBinary, fromJsonString, toBinary, toJsonString } from '@bufbuild/protobuf';
import { afterAll, describe, expect, test } from 'vitest';
import { HealthCheckResponseSchema } from '../../gen/health/v1/health_pb.ts';
import { GetWebhookRequestSchema, GetWebhookResponseSchema, WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { type HttpClient, openHttpClient } from '../support/http.ts';
import { ended, openHttp2Session, readReply } from '../support/http2-session.ts';
import { KEY_HELP } from '../support/malformed-requests.ts';
import {
  CONNECT,
  call,
  frame,
  type Protocol,
  protocolNamed,
  type RawReply,
  RPC_PROTOCOLS,
} from '../support/protocols.ts';
import { createTenant, startTestService } from '../support/service.ts';
import { openWebhookFixture } from '../support/webhook-fixture.ts';

const PROCEDURE = '/usher.v1.WebhookService/GetWebhook';
const MAX_MESSAGE_BYTES = 65_536;
/** What a unary RPC takes. */
const TYPES = 'application/json, application/proto, application/grpc, application/grpc-web, application/grpc-web-text';
const GRPC = protocolNamed('gRPC over HTTP/2');

const fixture = await openWebhookFixture({ config: { shutdownTimeoutMs: 500 } });
const { service, webhookId } = fixture;
/** Waits for a body only so long. */
const hasty = await startTestService({
  database: service.database,
  like: service.config,
  config: { requestTimeoutMs: 300 },
});

afterAll(async () => {
  await hasty.close();
  await fixture.close();
});

interface Expected {
  readonly code: string;
  /** The text, or what matches it. */
  readonly message: string;
  readonly fields: readonly string[];
  readonly help?: string;
  /** The HTTP status, over Connect. */
  readonly status: number;
}

type Case = [title: string, body: Uint8Array, expected: Expected, headers?: Record<string, string>, path?: string];

const malformed: Expected = { code: 'invalid_argument', message: 'Validation failed', fields: ['body'], status: 400 };
const noWebhookId: Expected = { ...malformed, fields: ['webhookId'] };
const notAnId: Expected = { ...malformed, message: 'Invalid webhook ID format', fields: [] };
const tooLarge: Expected = {
  code: 'resource_exhausted',
  message: expect.stringMatching(/65536/),
  fields: [],
  status: 413,
};
const tooLate: Expected = { code: 'deadline_exceeded', message: 'Deadline exceeded', fields: [], status: 504 };
const wrongKey: Expected = {
  code: 'unauthenticated',
  message: 'Invalid API key',
  fields: [],
  help: KEY_HELP,
  status: 401,
};
const unknownCompression = {
  ...tooLarge,
  code: 'unimplemented',
  message: expect.stringMatching(/^unknown compression/),
  status: 501,
};
const unknownMethod: Expected = { code: 'unimplemented', message: 'Unknown method', fields: [], status: 404 };
const wrongCount: Expected = {
  code: 'unimplemented',
  message: expect.stringMatching(/^protocol error/),
  fields: [],
  status: 200,
};

/** What gRPC demands: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md */
const withoutEncoding: Expected = {
  code: 'internal',
  message: 'Compressed message without an encoding',
  fields: [],
  status: 200,
};

/** Wrong varints, lengths, wire types, field numbers, groups, and strings that are not UTF-8. */
const MALFORMED_BINARY = ['ffffffff', '0aff', '08ffffffffffffffffffff01', '0a7f61', '0f', '0000', '0c', '0a02c328']
  .map(hex)
  .concat([Buffer.alloc(60_000, 0x13)]);
const MALFORMED_JSON = ['{"webhookId":', '', '[]', 'null', '{}{}', '['.repeat(60_000), '{"webhookId":"\xff"}'].map(
  (json) => Buffer.from(json, 'latin1'),
);
const NO_ID_JSON = ['7', '"\\ud800"'].map((id) => Buffer.from(`{"webhookId":${id}}`));

function messageCases(protocol: Protocol): Case[] {
  const { isJson, wrap } = protocol;
  const longest = messageOf(protocol, 'a'.repeat(MAX_MESSAGE_BYTES - (isJson ? 16 : 4)));
  const groups: [what: string, messages: Uint8Array[], expected: Expected][] = [
    ['the malformed message', isJson ? MALFORMED_JSON : MALFORMED_BINARY, malformed],
    ['the message without an ID', isJson ? NO_ID_JSON : [hex('')], noWebhookId],
    ['an ID that no text column holds', [messageOf(protocol, 'a\0b')], notAnId],
    ['the other format', [isJson ? hex('0a0177') : Buffer.from('{"webhookId":"wh_"}')], malformed],
    ['exactly 64 KiB', [longest], notAnId],
    ['an oversize message', [MAX_MESSAGE_BYTES + 1, 1_000_000].map((size) => Buffer.alloc(size)), tooLarge],
  ];
  return groups.flatMap(([what, messages, expected]) =>
    messages.map((message): Case => [`${what} ${message.toString().slice(0, 20)}`, wrap(message), expected]),
  );
}

/** What is valid, and brotli: test/api/rpc/compression.test.ts. */
function compressionCases(protocol: Protocol): Case[] {
  const message = messageOf(protocol, 'wh_'.padEnd(1_000, 'a'));
  const gzipped = gzipSync(message);
  const flipped = Buffer.from(gzipped);
  flipped.writeUInt8((flipped.at(-6) ?? 0) ^ 0xff, flipped.length - 6);
  const cases: [title: string, message: Uint8Array, expected: Expected, encoding?: string][] = [
    ['truncated gzip', gzipped.subarray(0, -12), malformed],
    ['a decompression bomb', gzipSync(Buffer.alloc(40_000_000)), tooLarge],
    ['gzip with a wrong checksum', flipped, malformed],
    ['bytes that are not gzip', Buffer.from('plain'), malformed],
    ['an unknown compression', gzipped, unknownCompression, 'zstd'],
  ];
  return cases.map(([title, message, expected, encoding = 'gzip']) => [
    title,
    protocol.wrap(message, { isCompressed: true }),
    expected,
    { [protocol.encodingHeader]: encoding },
  ]);
}

function frameCases(): Case[] {
  const message = toBinary(GetWebhookRequestSchema, create(GetWebhookRequestSchema, { webhookId: 'wh_' }));
  return [
    ['a frame of 4 GiB', frame(message, { length: 0xffff_ffff }), tooLarge],
    ['a truncated frame', frame(message, { length: 100 }), malformed],
    ['a truncated frame header', hex('000000'), malformed],
    ['unknown flags', frame(message, { flags: 0x7e }), notAnId],
    ['a compressed frame without an encoding', frame(message, { flags: 1 }), withoutEncoding],
    ['two messages', Buffer.concat([frame(message), frame(message)]), wrongCount],
    ['no message', hex(''), wrongCount],
    ['a message and half a frame', Buffer.concat([frame(message), hex('0000')]), malformed],
  ];
}

describe.each(RPC_PROTOCOLS)('over $name', (protocol) => {
  const cases: Case[] = [
    ...messageCases(protocol),
    ...compressionCases(protocol),
    ...(protocol.isFramed ? frameCases() : []),
    ['a wrong key and a malformed body', hex('ffffffffffff'), wrongKey, { 'x-api-key': 'wrong' }],
    ['an unknown method', validBody(protocol), unknownMethod, {}, '/usher.v1.WebhookService/getWebhook'],
    ['an unknown service', validBody(protocol), unknownMethod, {}, '/usher.v1.NothingService/GetWebhook'],
  ];

  // Timeouts: test/api/rpc/deadline.test.ts.
  test.each(cases)(
    'answers as documented to %s',
    async (_, body, { status, ...expected }, headers, path = PROCEDURE) => {
      using client = openHttpClient(service.url, protocol);
      const reply = await client.send({ path, headers: { ...headersOf(protocol), ...headers }, body });

      const { payload: __, ...outcome } = protocol.read(reply);
      expect(outcome).toEqual(expected);
      expect(reply.status).toBe(protocol.isFramed ? 200 : status);
      expectRequestId(reply);
      await expectHealthy(client, protocol);
    },
  );

  const because = (reason: string) => [{ type: 'google.rpc.ErrorInfo', debug: { reason, domain: 'usher' } }];
  const notAllowed = { code: 'unimplemented', message: 'Method not allowed', details: because('METHOD_NOT_ALLOWED') };
  const unsupported = {
    code: 'invalid_argument',
    message: 'Unsupported media type',
    details: [
      {
        type: 'google.rpc.BadRequest',
        debug: { fieldViolations: [{ field: 'Content-Type', description: `must be one of ${TYPES}` }] },
      },
      ...because('UNSUPPORTED_MEDIA_TYPE'),
    ],
  };
  const invalidHost = { status: false, message: 'Invalid host', reason: 'INVALID_HOST' };
  const refused: [status: number, what: string, value: string, body: Record<string, unknown>][] = [
    [405, 'method', 'GET', notAllowed],
    [405, 'method', 'OPTIONS', notAllowed],
    [415, 'content-type', `${protocol.contentType}+xml`, unsupported],
    [415, 'content-type', 'application/connect+json', unsupported],
    [415, 'content-type', '', unsupported],
    [400, 'host', '[', invalidHost],
  ];

  test.each(refused)('returns %s for the %s %j', async (status, what, value, body) => {
    using client = openHttpClient(service.url, protocol);
    const reply = await client.send({
      path: PROCEDURE,
      headers: { ...headersOf(protocol), ...(what !== 'method' && { [what]: value }) },
      ...(what === 'method' ? { method: value } : { body: validBody(protocol) }),
    });

    expect(reply).toMatchObject({ status, headers: { 'content-type': 'application/json' } });
    expect(reply.headers.allow).toBe(status === 405 ? 'POST' : undefined);
    expect(JSON.parse(reply.body)).toMatchObject(body);
    expectRequestId(reply);
    await expectHealthy(client, protocol);
  });
});

describe.each([protocolNamed('Connect JSON over HTTP/2'), GRPC])('an unfinished body over $name', (protocol) => {
  const head = () => ({ ':method': 'POST', ':path': PROCEDURE, ...headersOf(protocol) });

  test('is refused as too large while it goes on, and only its stream ends', async () => {
    using client = openHttp2Session(service.url);
    const stream = client.open(head());
    if (protocol.isFramed) stream.write(frame('', { length: 100_000_000 }));
    const timer = setInterval(() => stream.writable && stream.write(Buffer.alloc(16_384, 'a')), 1);
    try {
      expect(protocol.read(await readReply(stream))).toMatchObject({ code: 'resource_exhausted' });
      await ended(stream);
    } finally {
      clearInterval(timer);
    }
    expectWebhook(protocol, await client.exchange(head(), validBody(protocol)));
  });

  test('ends in DeadlineExceeded when it stops arriving, and only its stream ends', async () => {
    using client = openHttp2Session(hasty.url);
    const stream = client.open(head());
    stream.write(validBody(protocol).subarray(0, 10));

    expect(protocol.read(await readReply(stream))).toMatchObject({ code: tooLate.code, message: tooLate.message });
    expect(await client.exchange({ ':path': '/healthz' })).toMatchObject({ status: 200 });
  });
});

test('answers InvalidArgument to gRPC JSON that an error message cannot quote', async () => {
  using client = openHttpClient(service.url, GRPC);
  const headers = { ...headersOf(GRPC), 'content-type': 'application/grpc+json' };
  const reply = await client.send({ path: PROCEDURE, headers, body: GRPC.wrap('{"\\udc00":1}') });
  expect(GRPC.read(reply)).toMatchObject({ code: 'invalid_argument', message: 'Validation failed' });
  await expectHealthy(client, GRPC);
});

describe('another version of Connect', () => {
  const JSON_BODY = JSON.stringify({ webhookId });
  const BINARY_BODY = toBinary(GetWebhookRequestSchema, create(GetWebhookRequestSchema, { webhookId }));
  const send = async (version: string, type: string, body: string | Uint8Array, path = PROCEDURE) => {
    using client = openHttpClient(service.url, CONNECT);
    const headers = { ...headersOf(CONNECT), 'content-type': type, 'connect-protocol-version': version };
    return await client.send({ path, headers, body });
  };

  test.each(['2', '', 'v1', '1.0', '01', '1, 1'])('is InvalidArgument: %j', async (version) => {
    for (const [type, body] of [
      ['application/json', JSON_BODY],
      ['Application/JSON; charset=utf-8', JSON_BODY],
      ['application/proto', BINARY_BODY],
    ] as const) {
      const reply = await send(version, type, body);
      expect({ type, status: reply.status, ...JSON.parse(reply.body) }).toMatchObject({
        type,
        status: 400,
        code: 'invalid_argument',
        message: 'Validation failed',
      });
      expect(reply.body).toContain('Connect-Protocol-Version');
    }
    expect((await send('1', 'application/json', JSON_BODY)).status).toBe(200);
  });

  test('is InvalidArgument at the end of a stream', async () => {
    const reply = await send('2', 'application/connect+json', frame('{}'), '/grpc.health.v1.Health/Watch');
    expect(reply.status).toBe(200);
    expect(reply.body.slice(5)).toMatch(/^\{"error":\{"code":"invalid_argument"/);
  });

  test('is nothing to gRPC', async () => {
    using client = openHttpClient(service.url, GRPC);
    const headers = { ...headersOf(GRPC), 'connect-protocol-version': '2' };
    const reply = await client.send({ path: PROCEDURE, headers, body: GRPC.wrap(BINARY_BODY) });
    expect(GRPC.read(reply).code).toBe('ok');
  });
});

describe('streams over gRPC', () => {
  test.each([
    ['bytes that are no message', frame(hex('ffffffff'))],
    ['a truncated frame', frame('abc', { length: 100 })],
  ])('answer InvalidArgument to %s in a stream of requests', async (_, body) => {
    using client = openHttpClient(service.url, GRPC);
    const path = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
    const reply = await client.send({ path, headers: headersOf(GRPC), body });

    expect(GRPC.read(reply)).toMatchObject({ code: 'invalid_argument', message: 'Validation failed' });
    await expectHealthy(client, GRPC);
  });

  test('answer Internal to a compressed frame without an encoding', async () => {
    using client = openHttpClient(service.url, GRPC);
    const path = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
    const reply = await client.send({ path, headers: headersOf(GRPC), body: frame('', { flags: 1 }) });
    expect(GRPC.read(reply)).toMatchObject({ code: 'internal', message: withoutEncoding.message });
  });

  test("end at the caller's deadline", async () => {
    using client = openHttp2Session(service.url);
    const stream = client.open({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Watch',
      ...headersOf(GRPC),
      'grpc-timeout': '100m',
    });
    stream.end(frame(''));

    const { headers, trailers, bytes } = await readReply(stream);
    expect(fromBinary(HealthCheckResponseSchema, bytes.subarray(5))).toMatchObject({ status: 1 });
    expect({ ...headers, ...trailers }).toMatchObject({ 'grpc-status': '4' });
  });
});

test('calls with a timeout of 1 ms do not make other calls fail', async () => {
  await using fresh = await startTestService();
  const { apiKey } = await createTenant(fresh);
  const fields = { webhookId };
  const callWith = async (headers: Record<string, string>) =>
    (await call(CONNECT, fresh.url, WebhookService.method.getWebhook, fields, { 'x-api-key': apiKey, ...headers }))
      .message;
  const hasty = Array.from({ length: 20 }, () => callWith({ 'connect-timeout-ms': '1' }));
  const patient = Array.from({ length: 20 }, () => callWith({}));
  await Promise.all(hasty);
  patient.push(callWith({}));
  expect(new Set(await Promise.all(patient))).toEqual(new Set(['Webhook not found']));
});

/** Expects the connection to serve; the client opens a new one if the server had to close it. */
async function expectHealthy(client: HttpClient, protocol: Protocol): Promise<void> {
  expectWebhook(
    protocol,
    await client.send({ path: PROCEDURE, headers: headersOf(protocol), body: validBody(protocol) }),
  );
}

function expectWebhook(protocol: Protocol, reply: RawReply): void {
  const { code, payload } = protocol.read(reply);
  expect(code).toBe('ok');
  const { webhook } = protocol.isJson
    ? fromJsonString(GetWebhookResponseSchema, payload.toString())
    : fromBinary(GetWebhookResponseSchema, payload);
  expect(webhook?.webhookId).toBe(webhookId);
}

function expectRequestId(reply: RawReply): void {
  expect(reply.headers['x-request-id']).toMatch(/^[\w.:+/=-]{1,128}$/);
}

function headersOf({ contentType }: Protocol): Record<string, string> {
  return { 'content-type': contentType, ...fixture.key };
}

function validBody(protocol: Protocol): Uint8Array {
  return protocol.wrap(messageOf(protocol, webhookId));
}

function messageOf({ isJson }: Protocol, id: string): Uint8Array {
  const message = create(GetWebhookRequestSchema, { webhookId: id });
  return isJson
    ? Buffer.from(toJsonString(GetWebhookRequestSchema, message))
    : toBinary(GetWebhookRequestSchema, message);
}

function hex(digits: string): Buffer {
  return Buffer.from(digits, 'hex');
}
