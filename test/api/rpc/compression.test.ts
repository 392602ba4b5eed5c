/** Compressed messages: gzip with a key, nothing without one, and never an encoding that costs more memory than it has bytes. */
import { setImmediate as nextIteration } from 'node:timers/promises';
import { brotliCompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { create, type JsonObject, toBinary, toJsonString } from '@bufbuild/protobuf';
import { afterAll, describe, expect, test } from 'vitest';
import { ServerReflection } from '../../../gen/grpc/reflection/v1/reflection_pb.ts';
import { Health, HealthCheckRequestSchema } from '../../../gen/health/v1/health_pb.ts';
import { GetWebhookRequestSchema, WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import { pathOf } from '../../../src/api/procedures.ts';
import { limitParallel } from '../../../src/api/rpc/connect-options.ts';
import { request } from '../../support/http.ts';
import { call, frame, type Protocol, protocolNamed, RPC_PROTOCOLS, send } from '../../support/protocols.ts';
import { createTestWebhook } from '../../support/service.ts';
import { openWebhookFixture } from '../../support/webhook-fixture.ts';

const { getWebhook } = WebhookService.method;
const { check } = Health.method;
/** What a health check and a message of reflection may have at most. */
const MAX_OPEN_BYTES = 1_024;

const fixture = await openWebhookFixture();
const { service, tenant, key, webhookId } = fixture;

afterAll(() => fixture.close());

const acceptHeaderOf = ({ encodingHeader }: Protocol) =>
  encodingHeader === 'grpc-encoding' ? 'grpc-accept-encoding' : 'accept-encoding';

describe.each(RPC_PROTOCOLS)('over $name', (protocol) => {
  const { isJson, wrap, encodingHeader } = protocol;
  const sendCompressed = async (encoding: string, method: typeof getWebhook | typeof check, bytes: Uint8Array) => {
    const headers = { ...(method === getWebhook && key), [encodingHeader]: encoding };
    const reply = await send(protocol, service.url, { method, headers, body: wrap(bytes, { isCompressed: true }) });
    return { ...reply, outcome: protocol.read(reply) };
  };
  const webhookRequest = create(GetWebhookRequestSchema, { webhookId });
  const message = isJson
    ? Buffer.from(toJsonString(GetWebhookRequestSchema, webhookRequest))
    : toBinary(GetWebhookRequestSchema, webhookRequest);

  test('takes gzip from a caller with a key', async () => {
    const { outcome } = await sendCompressed('gzip', getWebhook, gzipSync(message));
    expect(outcome.code).toBe('ok');
  });

  test('refuses brotli, and names gzip as supported', async () => {
    const { outcome, headers } = await sendCompressed('br', getWebhook, brotliCompressSync(message));
    expect(outcome).toMatchObject({
      code: 'unimplemented',
      message: 'unknown compression "br": supported encodings are gzip',
    });
    expect(headers[acceptHeaderOf(protocol)]).toBe('gzip');
  });

  test.each(['gzip', 'br'])('refuses %s from a caller without a key', async (encoding) => {
    const { outcome, headers } = await sendCompressed(encoding, check, gzipSync(isJson ? '{}' : ''));
    expect(outcome).toMatchObject({
      code: 'unimplemented',
      message: `unknown compression "${encoding}": supported encodings are identity`,
    });
    expect(headers[acceptHeaderOf(protocol)]).toBe('identity');
  });

  test('takes a health check of 1 KiB, and refuses a larger one', async () => {
    const checkWith = async (bytes: number) => {
      // Of a name that is not known, in JSON or behind its tag and length.
      const service_ = 'a'.repeat(bytes - (isJson ? '{"service":""}'.length : 3));
      const { code, message } = await call(protocol, service.url, check, { service: service_ } as JsonObject, {});
      return { code, message };
    };
    expect(await checkWith(MAX_OPEN_BYTES)).toMatchObject({ code: 'not_found' });
    expect(await checkWith(MAX_OPEN_BYTES + 1)).toMatchObject({
      code: 'resource_exhausted',
      message: expect.stringMatching(/larger than configured readMaxBytes 1024$/),
    });
  });
});

// Responses of gRPC are not compressed.
test.each(RPC_PROTOCOLS.filter(({ kind }) => kind !== 'grpc'))(
  'compresses a long response over $name with gzip, and with nothing else',
  async (protocol) => {
    const { contentType, encodingHeader } = protocol;
    const url = `https://example.com/${'long'.repeat(400)}`;
    const long = await createTestWebhook(service, tenant, { url });
    const fields = { webhookId: long.webhookId };
    // Of gRPC and gRPC-Web the response is a frame, and another header names what is accepted.
    const get = (encodings: string) =>
      send(protocol, service.url, {
        method: getWebhook,
        fields,
        headers: { ...key, [acceptHeaderOf(protocol)]: encodings },
      });
    const [zipped, br] = await Promise.all([get('br, gzip'), get('br')]);
    expect(zipped.headers).toMatchObject({ [encodingHeader]: 'gzip' });
    const bytes = contentType.includes('grpc')
      ? zipped.bytes.subarray(5, 5 + zipped.bytes.readUInt32BE(1))
      : zipped.bytes;
    expect(gunzipSync(bytes).toString()).toContain(url);
    expect(br.headers).not.toHaveProperty(encodingHeader);
    expect(br.bytes.toString()).toContain(url);
  },
);

const { watch } = Health.method;
const { serverReflectionInfo } = ServerReflection.method;

test.each([
  ['a watch', 'application/connect+proto', watch, 'connect-content-encoding', 'connect-accept-encoding'],
  ['a watch', 'application/grpc', watch, 'grpc-encoding', 'grpc-accept-encoding'],
  ['reflection', 'application/grpc', serverReflectionInfo, 'grpc-encoding', 'grpc-accept-encoding'],
] as const)(
  'refuses a compressed message of %s over %s, and names what is supported',
  async (_, contentType, method, encodingHeader, acceptHeader) => {
    const body = frame(gzipSync(''), { flags: 1 });
    const headers = { 'content-type': contentType, [encodingHeader]: 'gzip' };
    const reply = await request(service.url, { httpVersion: '2', method: 'POST', path: pathOf(method), headers, body });
    expect(reply.headers[acceptHeader]).toBe('identity');
    const text = [reply.bytes.toString(), ...Object.values(reply.trailers)].join('\n');
    expect(decodeURIComponent(text)).toContain('supported encodings are identity');
  },
);

test('a watch of more than 1 KiB is refused', async () => {
  const body = frame(
    toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service: 'a'.repeat(1_025) })),
  );
  const headers = { 'content-type': 'application/grpc' };
  const path = pathOf(watch);
  const reply = await request(service.url, { httpVersion: '2', method: 'POST', path, headers, body });
  expect(protocolNamed('gRPC over HTTP/2').read(reply).code).toBe('resource_exhausted');
});

test('compresses no more messages at a time than the limit, and all of them in the end', async () => {
  let running = 0;
  let most = 0;
  const work = async (bytes: Uint8Array) => {
    most = Math.max(most, ++running);
    await nextIteration();
    running--;
    if (bytes.length === 0) throw new Error('nothing');
    return new Uint8Array(bytes);
  };
  const limited = limitParallel({ name: 'test', compress: work, decompress: work }, 3);
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, (_, at) => {
      const bytes = new Uint8Array(at % 5);
      return at % 2 === 0 ? limited.compress(bytes) : limited.decompress(bytes, 10);
    }),
  );
  expect(most).toBe(3);
  // A failure makes room for the next, too.
  expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(4);
});
