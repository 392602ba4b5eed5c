/** gRPC as clients built on `@grpc/grpc-js` see it. */
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { afterAll, expect, test } from 'vitest';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import { setGrpcStatus } from '../../../src/api/rpc/grpc-status.ts';
import { GrpcClient } from '../../support/grpc-client.ts';
import { openHttp2Session } from '../../support/http2-session.ts';
import { lockEvent } from '../../support/lock.ts';
import { frame } from '../../support/protocols.ts';
import { RawConnection } from '../../support/raw-connection.ts';
import { createTestEvent } from '../../support/service.ts';
import { openWebhookFixture } from '../../support/webhook-fixture.ts';

const fixture = await openWebhookFixture();
const client = new GrpcClient(fixture.service);

afterAll(async () => {
  client[Symbol.dispose]();
  await fixture.close();
});

const getWebhook = (webhookId: string, headers: Record<string, string> = fixture.key) => {
  const { getWebhook: method } = WebhookService.method;
  return client.unary(method, create(method.input, { webhookId }), { headers });
};

const deleteEvent = (eventId: string, options: Parameters<GrpcClient['unary']>[2] = {}) => {
  const { deleteEvent: method } = EventService.method;
  return client.unary(method, create(method.input, { eventId }), { headers: fixture.key, ...options });
};

test('GetWebhook returns the webhook, and the request ID of the caller if there is one', async () => {
  const { webhookId, key } = fixture;
  const { code, message, headers } = await getWebhook(webhookId, { ...key, 'x-request-id': 'a-request' });
  expect({ code, message }).toMatchObject({ code: 'OK', message: { webhook: { webhookId, owner: { name: 'Ada' } } } });
  expect(headers.get('x-request-id')).toEqual(['a-request']);
  const other = await getWebhook(webhookId);
  expect(other.headers.get('x-request-id')).toEqual([expect.stringMatching(/^[\da-f-]{36}$/)]);
});

test.each([
  ['UNAUTHENTICATED', 'Invalid API key', () => getWebhook(fixture.webhookId, {})],
  ['INVALID_ARGUMENT', 'Invalid webhook ID format', () => getWebhook('wh_1')],
  ['NOT_FOUND', 'Webhook not found', () => getWebhook(`wh_${'0'.repeat(32)}`)],
])('an error has the status %s and the message "%s"', async (code, details, call) => {
  expect(await call()).toMatchObject({ code, details, message: undefined });
});

test('100 concurrent calls on one connection succeed', async () => {
  const outcomes = await Promise.all(Array.from({ length: 100 }, () => getWebhook(fixture.webhookId)));
  expect(outcomes.map(({ code }) => code)).toEqual(Array(100).fill('OK'));
});

test('an unknown method is UNIMPLEMENTED', async () => {
  const { getWebhook: method } = WebhookService.method;
  const { code } = await client.unary({ ...method, name: 'NoSuchMethod' }, create(method.input));
  expect(code).toBe('UNIMPLEMENTED');
});

test('a call ends when the caller cancels it, and the next one succeeds', async () => {
  const eventId = await createTestEvent(fixture.service, fixture.tenant);
  await using lock = await lockEvent(fixture.service.database, eventId);
  const { promise: begun, resolve: begin } = Promise.withResolvers<() => void>();
  const cancelled = deleteEvent(eventId, { onCall: (call) => begin(() => call.cancel()) });
  const cancel = await begun;
  await lock.waitedForBy(1);
  cancel();
  expect((await cancelled).code).toBe('CANCELLED');
  await lock.release();
  expect((await deleteEvent('no-such-event')).code).toBe('NOT_FOUND');
});

test.each([
  ['in the trailers', 'Content-Length: 0\r\n\r\n'],
  ['in the headers if the reply ends the connection', 'Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n'],
])('a call over HTTP/1.1, which gRPC does not have, gets its status %s', async (_, rest) => {
  using connection = await RawConnection.open(fixture.service.port);
  connection.send(
    `POST /usher.v1.WebhookService/GetWebhook HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/grpc\r\n${rest}`,
  );
  const { status, headers, trailers } = await connection.reply();
  expect(status).toBe(200);
  expect({ ...headers, ...trailers }).toMatchObject({ 'grpc-status': '16', 'grpc-message': 'Invalid%20API%20key' });
});

test.each([
  ['gRPC', 'application/grpc', {}],
  ['gRPC by the handlers of Connect', 'application/grpc', { 'grpc-encoding': 'gzip' }],
  ['gRPC-Web', 'application/grpc-web+proto', {}],
])('a message of %s is percent-encoded only where it must be', async (_, contentType, headers) => {
  using session = openHttp2Session(fixture.service.url);
  const path = '/usher.v1.WebhookService/GetWebhook';
  const sent = {
    ':method': 'POST',
    ':path': path,
    'content-type': contentType,
    te: 'trailers',
    ...fixture.key,
    ...headers,
  };
  // Two messages, where there may be one.
  const reply = await session.exchange(sent, Buffer.concat([frame(''), frame('')]));
  const text = JSON.stringify({ ...reply.headers, ...reply.trailers }) + reply.body;
  expect(/grpc-message"?: ?"?([^"\r]*)/.exec(text)?.[1]).toMatch(/^protocol%20error:%20[a-z%20]+$/);
});

test.each([
  ['it is "/a:b" of (x), 100 %', 'it%20is%20"/a:b"%20of%20(x),%20100%20%25'],
  ['naïve\r\n\u007f\u{1f600}', 'na%C3%AFve%0D%0A%7F%F0%9F%98%80'],
])('the message %j is sent as %s', (message, encoded) => {
  const headers = setGrpcStatus(new Headers(), new ConnectError(message, Code.Aborted));
  expect([headers.get('grpc-message'), headers.get('grpc-status')]).toEqual([encoded, '10']);
});
