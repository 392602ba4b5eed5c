/**
 * A plain unary call takes a fast path, and its reply is the same as from Connect. Each call is made twice:
 * with its content type in capitals, only Connect handles it.
 */
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import { afterAll, describe, expect, test } from 'vitest';
import { AuthService } from '../../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import { type HttpRequest, openHttpClient } from '../../support/http.ts';
import { frame, protocolNamed, toRequest } from '../../support/protocols.ts';
import { clientsOf, createTestEvent, createTestWebhook } from '../../support/service.ts';
import { openWebhookFixture } from '../../support/webhook-fixture.ts';

const { getWebhook } = WebhookService.method;
const { createEvent, checkIn } = EventService.method;
const { exchangeToken, generateAuthUrl } = AuthService.method;

const fixture = await openWebhookFixture();
const { service, tenant } = fixture;
const url = `https://example.com/${'long'.repeat(400)}`;
const longWebhookId = (await createTestWebhook(service, tenant, { url })).webhookId;
const eventId = await createTestEvent(service, tenant, 'known');
await clientsOf(service, tenant).events.checkIn({ eventId, attendeeId: 'early' });

afterAll(() => fixture.close());

describe.each(['Connect JSON over HTTP/2', 'Connect binary over HTTP/2', 'gRPC over HTTP/2'])('%s', (name) => {
  const protocol = protocolNamed(name);
  const { contentType, encodingHeader, timeoutHeader, isFramed } = protocol;
  const call = (method: DescMethodUnary, fields: JsonObject, headers: Record<string, string> = {}): HttpRequest =>
    toRequest(protocol, { method, fields, headers: { ...fixture.key, 'x-request-id': 'the-same', ...headers } });
  const webhook = (headers: Record<string, string> = {}) => call(getWebhook, { webhookId: fixture.webhookId }, headers);
  const raw = (body: Uint8Array | string): HttpRequest => ({ ...webhook(), body });
  const callBothWays = async ({ headers, ...request }: HttpRequest) => {
    using client = openHttpClient(fixture.service.url, protocol);
    const send = async (asContentType: string) => {
      const reply = await client.send({ ...request, headers: { ...headers, 'content-type': asContentType } });
      const { date: _, ...others } = reply.headers;
      return { ...reply, headers: others };
    };
    const reply = await send(contentType);
    expect(reply).toEqual(await send(contentType.toUpperCase()));
    return protocol.read(reply).code;
  };

  test.each<[string, () => HttpRequest]>([
    ['a response', () => webhook()],
    ['an empty response', () => call(checkIn, { eventId: 'known', attendeeId: 'early' })],
    ['a response above 1 KiB', () => call(getWebhook, { webhookId: longWebhookId })],
    [
      'a response above 1 KiB that may be compressed',
      () => call(getWebhook, { webhookId: longWebhookId }, { 'accept-encoding': 'br;q=0, deflate, gzip' }),
    ],
    ['a small response that may be compressed', () => webhook({ 'accept-encoding': 'gzip, br' })],
    ['a long timeout', () => webhook({ [timeoutHeader]: isFramed ? '99999999H' : '9999999999' })],
    ['the encoding identity', () => webhook({ [encodingHeader]: 'identity' })],
  ])('answers %s like Connect', async (_case, describeCall) => {
    expect(await callBothWays(describeCall())).toBe('ok');
  });

  test.each<[string, () => HttpRequest]>([
    ['an unknown webhook', () => call(getWebhook, { webhookId: `wh_${'0'.repeat(32)}` })],
    ['a malformed webhook ID', () => call(getWebhook, { webhookId: 'wh_ü' })],
    ['an event that exists', () => call(createEvent, { eventId: 'known' })],
    ['a malformed token', () => call(exchangeToken, { authToken: 'none' })],
    ['several violations', () => call(generateAuthUrl, { clientId: '', redirectUri: '', state: 'ö'.repeat(600) })],
    ['another client ID', () => call(generateAuthUrl, { clientId: 'other', redirectUri: 'a', state: 'b' })],
    ['no API key', () => ({ ...webhook(), headers: { 'x-request-id': 'the-same' } })],
    ['an unknown API key', () => webhook({ 'x-api-key': `usk_${'0'.repeat(49)}` })],
    ['an unknown API key with a malformed body', () => ({ ...webhook({ 'x-api-key': 'wrong' }), body: '{' })],
    ['an empty body', () => raw('')],
    ['half a body', () => raw('{"webhookId":')],
    ['a field of another type', () => raw('{"webhookId":7}')],
    ['an unknown field', () => raw(`{"webhookId":"${fixture.webhookId}","more":[1]}`)],
    [
      'an unknown field of a call that refuses those',
      () => ({ ...call(createEvent, { eventId: 'new' }), body: '{"more":[1]}' }),
    ],
    ['invalid UTF-8', () => raw(Buffer.from([...Buffer.from('{"webhookId":"'), 0xff, 0x22, 0x7d]))],
    ['bytes after the message', () => raw(Buffer.concat([Buffer.from(webhook().body ?? ''), Buffer.alloc(3)]))],
    ['a message above 64 KiB', () => raw(frame(Buffer.alloc(70_000, 0x20)))],
    ['a frame that announces 4 GiB', () => raw(Buffer.from('00ffffffff0a', 'hex'))],
    ['an unknown frame flag', () => raw(frame(Buffer.alloc(3), { flags: 0x40 }))],
    ['a deadline that has passed', () => webhook({ [timeoutHeader]: isFramed ? '0n' : '0' })],
    ['a malformed timeout', () => webhook({ [timeoutHeader]: 'soon' })],
    ['an unknown encoding', () => webhook({ [encodingHeader]: 'zip' })],
    ['a body that is not compressed as announced', () => webhook({ [encodingHeader]: 'gzip' })],
    ['another version of the Connect protocol', () => webhook({ 'connect-protocol-version': '2' })],
  ])('refuses or answers %s like Connect', async (_case, describeCall) => {
    await callBothWays(describeCall());
  });
});
