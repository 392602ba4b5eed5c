/**
 * A plain unary call is decoded and encoded without Connect, and its reply is the same. Each call is made twice: in capitals,
 * or in gzip, it is handed over to Connect.
 */
import { gzipSync } from 'node:zlib';
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import { afterAll, describe, expect, test } from 'vitest';
import { AuthService } from '../../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import { type HttpRequest, openHttpClient } from '../../support/http.ts';
import { protocolNamed, toRequest } from '../../support/protocols.ts';
import { clientsOf, createTestEvent, createTestWebhook } from '../../support/service.ts';
import { openWebhookFixture } from '../../support/webhook-fixture.ts';

const { getWebhook } = WebhookService.method;
const { createEvent, checkIn } = EventService.method;
const { generateAuthUrl } = AuthService.method;

const fixture = await openWebhookFixture();
const { service, tenant } = fixture;
const url = `https://example.com/${'long'.repeat(400)}`;
const longWebhookId = (await createTestWebhook(service, tenant, { url })).webhookId;
const eventId = await createTestEvent(service, tenant, 'known');
await clientsOf(service, tenant).events.checkIn({ eventId, attendeeId: 'early' });

afterAll(() => fixture.close());

describe.each(['Connect JSON over HTTP/2', 'Connect binary over HTTP/2', 'gRPC over HTTP/2'])('%s', (name) => {
  const protocol = protocolNamed(name);
  const { contentType, timeoutHeader, isFramed } = protocol;
  const call = (method: DescMethodUnary, fields: JsonObject, headers: Record<string, string> = {}): HttpRequest =>
    toRequest(protocol, { method, fields, headers: { ...fixture.key, 'x-request-id': 'the-same', ...headers } });
  const webhook = (headers: Record<string, string> = {}) => call(getWebhook, { webhookId: fixture.webhookId }, headers);
  const raw = (body: Uint8Array | string): HttpRequest => ({ ...webhook(), body });
  const handOver = ({ headers, body = '', ...request }: HttpRequest): HttpRequest =>
    isFramed
      ? { ...request, body, headers: { ...headers, 'content-type': contentType.toUpperCase() } }
      : { ...request, body: gzipSync(body), headers: { ...headers, 'content-encoding': 'gzip' } };
  const callBothWays = async ({ headers, ...request }: HttpRequest) => {
    const plain = { ...request, headers: { 'content-type': contentType, 'accept-encoding': 'identity', ...headers } };
    using client = openHttpClient(fixture.service.url, protocol);
    const send = async (each: HttpRequest) => {
      const { headers: all, ...reply } = await client.send(each);
      const { date: _, ...others } = all;
      return { ...reply, headers: others };
    };
    const reply = await send(plain);
    expect(reply).toEqual(await send(handOver(plain)));
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
  ])('answers %s like Connect', async (_case, describeCall) => {
    expect(await callBothWays(describeCall())).toBe('ok');
  });

  test.each<[string, () => HttpRequest]>([
    ['an unknown webhook', () => call(getWebhook, { webhookId: `wh_${'0'.repeat(32)}` })],
    ['a malformed webhook ID', () => call(getWebhook, { webhookId: 'wh_ü' })],
    ['an event that exists', () => call(createEvent, { eventId: 'known' })],
    ['several violations', () => call(generateAuthUrl, { clientId: '', redirectUri: '', state: 'ö'.repeat(600) })],
    ['no API key', () => ({ ...webhook(), headers: { 'x-request-id': 'the-same' } })],
    ['half a body', () => raw('{"webhookId":')],
    ['a field of another type', () => raw('{"webhookId":7}')],
    ['an unknown field', () => raw(`{"webhookId":"${fixture.webhookId}","more":[1]}`)],
    [
      'an unknown field of a call that refuses those',
      () => ({ ...call(createEvent, { eventId: 'new' }), body: '{"more":[1]}' }),
    ],
    ['a deadline that has passed', () => webhook({ [timeoutHeader]: isFramed ? '0n' : '0' })],
    ['a malformed timeout', () => webhook({ [timeoutHeader]: 'soon' })],
  ])('refuses or answers %s like Connect', async (_case, describeCall) => {
    await callBothWays(describeCall());
  });
});
