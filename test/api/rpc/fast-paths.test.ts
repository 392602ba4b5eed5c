/**
 * A plain unary call takes a fast path, and its reply is the same as from Connect. Each call is made twice:
 * with its content type in capitals, only Connect handles it.
 */
import { create, type DescMethodUnary, type MessageInitShape, toBinary, toJsonString } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AuthService } from '../../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import { type Http2Session, openHttp2Session } from '../../support/http2-session.ts';
import { frame } from '../../support/protocols.ts';
import { clientsOf } from '../../support/service.ts';
import { openWebhookFixture, type WebhookFixture } from '../../support/webhook-fixture.ts';

const { getWebhook } = WebhookService.method;
const { createEvent, checkIn } = EventService.method;
const { exchangeToken, generateAuthUrl } = AuthService.method;

interface Call {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array | string;
}

type Encode = <Method extends DescMethodUnary>(
  method: Method,
  fields: MessageInitShape<Method['input']>,
) => Uint8Array | string;

const encodeBinary = <Method extends DescMethodUnary>(
  { input }: Method,
  fields: MessageInitShape<Method['input']>,
): Uint8Array => toBinary(input, create(input, fields));
const encodeJson: Encode = ({ input }, fields) => toJsonString(input, create(input, fields));
const encodeFramed: Encode = (method, fields) => frame(encodeBinary(method, fields));

const CONNECT = { timeoutHeader: 'connect-timeout-ms', encodingHeader: 'content-encoding', success: { status: 200 } };
const GRPC = {
  timeoutHeader: 'grpc-timeout',
  encodingHeader: 'grpc-encoding',
  success: { status: 200, trailers: { 'grpc-status': '0' } },
};

let fixture: WebhookFixture;
let session: Http2Session;
let longWebhookId: string;

beforeAll(async () => {
  fixture = await openWebhookFixture();
  session = openHttp2Session(fixture.service.url);
  const { webhooks, events } = clientsOf(fixture.service, fixture.tenant);
  const url = `https://example.com/${'long'.repeat(400)}`;
  const { webhook } = await webhooks.createWebhook({ url, ownerId: fixture.owner.id });
  longWebhookId = webhook?.webhookId ?? '';
  await events.createEvent({ eventId: 'known' });
  await events.checkIn({ eventId: 'known', attendeeId: 'early' });
});

afterAll(async () => {
  session[Symbol.dispose]();
  await fixture.close();
});

describe.each([
  { name: 'Connect JSON', contentType: 'application/json', encode: encodeJson, ...CONNECT },
  { name: 'Connect binary', contentType: 'application/proto', encode: encodeBinary, ...CONNECT },
  { name: 'gRPC', contentType: 'application/grpc+proto', encode: encodeFramed, ...GRPC },
])('$name', ({ contentType, encode, timeoutHeader, encodingHeader, success }) => {
  const isGrpc = timeoutHeader === 'grpc-timeout';
  const call = <Method extends DescMethodUnary>(
    method: Method,
    fields: MessageInitShape<Method['input']>,
    headers: Record<string, string> = {},
  ): Call => ({
    path: `/${method.parent.typeName}/${method.name}`,
    headers: { ...fixture.key, ...headers },
    body: encode(method, fields),
  });
  const webhook = (headers: Record<string, string> = {}) => call(getWebhook, { webhookId: fixture.webhookId }, headers);
  const raw = (body: Uint8Array | string): Call => ({ ...webhook(), body });
  const callBothWays = async ({ path, headers, body }: Call) => {
    const send = async (asContentType: string) => {
      const sent = { ':method': 'POST', ':path': path, 'x-request-id': 'the-same', ...headers };
      const reply = await session.exchange({ ...sent, 'content-type': asContentType }, body);
      const { date: _, ...others } = reply.headers;
      return { ...reply, bytes: undefined, body: reply.bytes.toString('latin1'), headers: others };
    };
    const reply = await send(contentType);
    expect(reply).toEqual(await send(contentType.toUpperCase()));
    return reply;
  };

  test.each<[string, () => Call]>([
    ['a response', () => webhook()],
    ['an empty response', () => call(checkIn, { eventId: 'known', attendeeId: 'early' })],
    ['a response above 1 KiB', () => call(getWebhook, { webhookId: longWebhookId })],
    [
      'a response above 1 KiB that may be compressed',
      () => call(getWebhook, { webhookId: longWebhookId }, { 'accept-encoding': 'br;q=0, deflate, gzip' }),
    ],
    ['a small response that may be compressed', () => webhook({ 'accept-encoding': 'gzip, br' })],
    ['a long timeout', () => webhook({ [timeoutHeader]: isGrpc ? '99999999H' : '9999999999' })],
    ['the encoding identity', () => webhook({ [encodingHeader]: 'identity' })],
  ])('answers %s like Connect', async (_case, describeCall) => {
    expect(await callBothWays(describeCall())).toMatchObject(success);
  });

  test.each<[string, () => Call]>([
    ['an unknown webhook', () => call(getWebhook, { webhookId: `wh_${'0'.repeat(32)}` })],
    ['a malformed webhook ID', () => call(getWebhook, { webhookId: 'wh_ü' })],
    ['an event that exists', () => call(createEvent, { eventId: 'known' })],
    ['a malformed token', () => call(exchangeToken, { authToken: 'none' })],
    ['several violations', () => call(generateAuthUrl, { clientId: '', redirectUri: '', state: 'ö'.repeat(600) })],
    ['another client ID', () => call(generateAuthUrl, { clientId: 'other', redirectUri: 'a', state: 'b' })],
    ['no API key', () => ({ ...webhook(), headers: {} })],
    ['an unknown API key', () => webhook({ 'x-api-key': `usk_${'0'.repeat(49)}` })],
    ['an unknown API key with a malformed body', () => ({ ...raw('{'), headers: { 'x-api-key': 'wrong' } })],
    ['an empty body', () => raw('')],
    ['half a body', () => raw('{"webhookId":')],
    ['a field of another type', () => raw('{"webhookId":7}')],
    ['an unknown field', () => raw(`{"webhookId":"${fixture.webhookId}","more":[1]}`)],
    ['invalid UTF-8', () => raw(Buffer.from([...Buffer.from('{"webhookId":"'), 0xff, 0x22, 0x7d]))],
    ['bytes after the message', () => raw(Buffer.concat([Buffer.from(webhook().body), Buffer.alloc(3)]))],
    ['a message above 64 KiB', () => raw(frame(Buffer.alloc(70_000, 0x20)))],
    ['a frame that announces 4 GiB', () => raw(Buffer.from('00ffffffff0a', 'hex'))],
    ['an unknown frame flag', () => raw(frame(Buffer.alloc(3), { flags: 0x40 }))],
    ['a deadline that has passed', () => webhook({ [timeoutHeader]: isGrpc ? '0n' : '0' })],
    ['a malformed timeout', () => webhook({ [timeoutHeader]: 'soon' })],
    ['an unknown encoding', () => webhook({ [encodingHeader]: 'zip' })],
    ['a body that is not compressed as announced', () => webhook({ [encodingHeader]: 'gzip' })],
    ['another version of the Connect protocol', () => webhook({ 'connect-protocol-version': '2' })],
  ])('refuses or answers %s like Connect', async (_case, describeCall) => {
    await callBothWays(describeCall());
  });
});
