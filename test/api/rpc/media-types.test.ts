/** Media types in every spelling that RFC 9110 allows, and gRPC-Web in base64. */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { afterAll, describe, expect, test } from 'vitest';
import {
  Health,
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as Status,
} from '../../../gen/health/v1/health_pb.ts';
import { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import { pathOf } from '../../../src/api/procedures.ts';
import { type HttpReply, openHttpClient } from '../../support/http.ts';
import {
  decodeBase64,
  frame,
  type Protocol,
  protocolNamed,
  RPC_PROTOCOLS,
  toRequest,
} from '../../support/protocols.ts';
import { openWebhookFixture } from '../../support/webhook-fixture.ts';

const { getWebhook } = WebhookService.method;

const fixture = await openWebhookFixture();
afterAll(() => fixture.close());

async function send(
  protocol: Protocol,
  contentType: string,
  { path, body }: { path?: string; body?: string | Uint8Array } = {},
): Promise<HttpReply> {
  using client = openHttpClient(fixture.service.url, protocol);
  const call = toRequest(protocol, { method: getWebhook, fields: { webhookId: fixture.webhookId } });
  const headers = { ...call.headers, ...fixture.key, 'content-type': contentType };
  return await client.send({ ...call, headers, path: path ?? call.path, body: body ?? call.body });
}

describe.each(RPC_PROTOCOLS)('over $name', (protocol) => {
  const { contentType } = protocol;

  test.each([
    contentType.toUpperCase(),
    `${contentType};charset=utf-8`,
    `${contentType}; charset="utf-8"`,
    `${contentType} ; Charset=UTF8`,
    `${contentType}; version=1`,
    `${contentType};`,
  ])('a call of type %s is answered', async (type) => {
    expect(protocol.read(await send(protocol, type)).code).toBe('ok');
  });

  test.runIf(protocol.isJson)('a call in another charset is refused', async () => {
    expect((await send(protocol, `${contentType}; charset=utf-16`)).status).toBe(415);
  });

  test('a call of another type is refused with the types that are served', async () => {
    const reply = await send(protocol, 'text/xml');
    expect(reply).toMatchObject({
      status: 415,
      headers: {
        'accept-post':
          'application/json, application/proto, application/grpc, application/grpc-web, application/grpc-web-text',
      },
    });
  });

  test('a stream of another type is refused with the types that are served', async () => {
    const reply = await send(protocol, 'text/xml', { path: pathOf(Health.method.watch) });
    expect(reply.headers['accept-post']).toMatch(/^application\/connect\+json, application\/connect\+proto, /);
  });
});

describe.each(['1.1', '2'])('gRPC-Web in base64 over HTTP/%s', (version) => {
  const protocol = protocolNamed(`gRPC-Web over HTTP/${version}`);
  const request = { webhookId: fixture.webhookId };
  const message = frame(toBinary(getWebhook.input, create(getWebhook.input, request)));
  const encode = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
  const sendText = async (body: string, type = 'application/grpc-web-text', path?: string) => {
    const reply = await send(protocol, type, { body, ...(path && { path }) });
    return { ...reply, bytes: decodeBase64(reply.body) };
  };

  test.each(['application/grpc-web-text', 'Application/gRPC-Web-Text+Proto; charset=utf-8'])(
    'answers a call of type %s',
    async (type) => {
      const reply = await sendText(encode(message), type);
      expect(reply.headers['content-type']).toBe('application/grpc-web-text+proto');
      expect(reply.body).toMatch(/^[A-Za-z0-9+/=]+$/);
      const { code, payload } = protocol.read(reply);
      expect(code).toBe('ok');
      expect(fromBinary(getWebhook.output, payload).webhook?.webhookId).toBe(fixture.webhookId);
    },
  );

  test('reads a message whose parts are encoded by themselves', async () => {
    const parts = [message.subarray(0, 1), message.subarray(1, 5), message.subarray(5)];
    expect(protocol.read(await sendText(parts.map(encode).join(''))).code).toBe('ok');
  });

  test.each([
    ['bytes', message.toString('latin1')],
    ['half a group', encode(message).slice(0, -2)],
    ['base64url', encode(Buffer.alloc(6, 0xff)).replaceAll('/', '_')],
    ['padding alone', '===='],
  ])('answers InvalidArgument to %s', async (_, body) => {
    expect(protocol.read(await sendText(body))).toMatchObject({ code: 'invalid_argument', fields: ['body'] });
  });

  test('says in base64 why a call is refused', async () => {
    const unknown = frame(toBinary(getWebhook.input, create(getWebhook.input, { webhookId: `wh_${'0'.repeat(32)}` })));
    expect(protocol.read(await sendText(encode(unknown))).code).toBe('not_found');
  });

  test('answers an unknown method', async () => {
    const reply = await sendText(encode(message), 'application/grpc-web-text', '/usher.v1.WebhookService/No');
    expect(protocol.read(reply).code).toBe('unimplemented');
  });

  test('answers health checks', async () => {
    const check = frame(toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema)));
    const reply = await sendText(encode(check), 'application/grpc-web-text', pathOf(Health.method.check));
    const { payload } = protocol.read(reply);
    expect(fromBinary(Health.method.check.output, payload).status).toBe(Status.SERVING);
  });
});
