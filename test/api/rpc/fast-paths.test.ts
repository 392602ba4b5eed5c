/**
 * Plain unary calls take a fast path past Connect, and nobody can tell: each call here is made twice,
 * once as the fast path takes it, and once with its content type in capitals, which only Connect takes.
 */
import { create, type DescMethodUnary, type MessageInitShape, toBinary, toJsonString } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AuthService } from '../../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import { type Http2Session, openHttp2Session } from '../../support/http2-session.ts';
import { frame } from '../../support/rpc-wire.ts';
import { clientsOf, createTenant, createTestUser, startTestService, type TestService } from '../../support/service.ts';

const { getWebhook, createWebhook } = WebhookService.method;
const { createEvent, deleteEvent, checkIn } = EventService.method;
const { exchangeToken, generateAuthUrl } = AuthService.method;

interface Call {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array | string;
}

interface Format {
  readonly name: string;
  readonly contentType: string;
  readonly timeoutHeader: string;
  readonly encodingHeader: string;
  readonly success: object;
  encode<Method extends DescMethodUnary>(
    method: Method,
    fields: MessageInitShape<Method['input']>,
  ): Uint8Array | string;
}

const binary = <Method extends DescMethodUnary>({ input }: Method, fields: MessageInitShape<Method['input']>) =>
  toBinary(input, create(input, fields));

const FORMATS: readonly Format[] = [
  {
    name: 'Connect JSON',
    contentType: 'application/json',
    timeoutHeader: 'connect-timeout-ms',
    encodingHeader: 'content-encoding',
    success: { status: 200 },
    encode: ({ input }, fields) => toJsonString(input, create(input, fields)),
  },
  {
    name: 'Connect binary',
    contentType: 'application/proto',
    timeoutHeader: 'connect-timeout-ms',
    encodingHeader: 'content-encoding',
    success: { status: 200 },
    encode: binary,
  },
  {
    name: 'gRPC',
    contentType: 'application/grpc+proto',
    timeoutHeader: 'grpc-timeout',
    encodingHeader: 'grpc-encoding',
    success: { status: 200, trailers: { 'grpc-status': '0' } },
    encode: (method, fields) => frame(binary(method, fields)),
  },
];

let service: TestService;
let session: Http2Session;
let apiKey: string;
let clientId: string;
let ownerId: string;
let webhookId: string;
let longWebhookId: string;

beforeAll(async () => {
  service = await startTestService();
  session = openHttp2Session(service.url);
  const tenant = await createTenant(service);
  ({ apiKey, clientId } = tenant);
  ownerId = (await createTestUser(service)).id;
  const { webhooks, events } = clientsOf(service, tenant);
  const create = async (url: string) => (await webhooks.createWebhook({ url, ownerId })).webhook?.webhookId ?? '';
  webhookId = await create('https://example.com/hooks');
  longWebhookId = await create(`https://example.com/${'long/'.repeat(300)}`);
  await events.createEvent({ eventId: 'known' });
  await events.checkIn({ eventId: 'known', attendeeId: 'early' });
});

afterAll(async () => {
  session[Symbol.dispose]();
  await service.close();
});

describe.each(FORMATS)('$name', (format) => {
  const { contentType, timeoutHeader, encodingHeader } = format;
  const call = <Method extends DescMethodUnary>(
    method: Method,
    fields: MessageInitShape<Method['input']>,
    headers: Record<string, string> = {},
  ): Call => ({
    path: pathOf(method),
    headers: { 'x-api-key': apiKey, ...headers },
    body: format.encode(method, fields),
  });
  const webhook = (headers: Record<string, string> = {}) => call(getWebhook, { webhookId }, headers);
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
    ['a success', () => webhook()],
    ['an empty success', () => call(checkIn, { eventId: 'known', attendeeId: 'early' })],
    ['a success of more than a kibibyte', () => call(getWebhook, { webhookId: longWebhookId })],
    [
      'a success of more than a kibibyte that may be compressed',
      () => call(getWebhook, { webhookId: longWebhookId }, { 'accept-encoding': 'br;q=0, deflate, gzip' }),
    ],
    ['a small success that may be compressed', () => webhook({ 'accept-encoding': 'gzip, br' })],
    [
      'a long deadline',
      () => webhook({ [timeoutHeader]: timeoutHeader === 'grpc-timeout' ? '99999999H' : '9999999999' }),
    ],
    ['no compression, said aloud', () => webhook({ [encodingHeader]: 'identity' })],
  ])('%s', async (_case, describeCall) => {
    expect(await callBothWays(describeCall())).toMatchObject(format.success);
  });

  test.each<[string, () => Call]>([
    ['a webhook that does not exist', () => call(getWebhook, { webhookId: `wh_${'0'.repeat(32)}` })],
    ['a malformed webhook ID', () => call(getWebhook, { webhookId: 'wh_ü' })],
    [
      'an owner that does not exist',
      () => call(createWebhook, { url: 'https://a.test', ownerId: crypto.randomUUID() }),
    ],
    ['an event that exists', () => call(createEvent, { eventId: 'known' })],
    ['an event that does not exist', () => call(deleteEvent, { eventId: 'unknown' })],
    ['a token that is none', () => call(exchangeToken, { authToken: 'none' })],
    ['several violations', () => call(generateAuthUrl, { clientId: '', redirectUri: '', state: 'ö'.repeat(600) })],
    ["another's client ID", () => call(generateAuthUrl, { clientId: `${clientId}0`, redirectUri: 'a', state: 'b' })],
    ['no fields', () => call(getWebhook, {})],
    ['no API key', () => ({ ...webhook(), headers: {} })],
    ['a wrong API key', () => webhook({ 'x-api-key': `usk_${'0'.repeat(49)}` })],
    ['a wrong API key and a broken body', () => ({ ...raw('{'), headers: { 'x-api-key': 'wrong' } })],
    ['an empty body', () => raw('')],
    ['a body that breaks off', () => raw('{"webhookId":')],
    ['a field of another type', () => raw('{"webhookId":7}')],
    ['a field that nobody knows', () => raw(`{"webhookId":"${webhookId}","more":[1]}`)],
    ['invalid UTF-8', () => raw(Buffer.from([...Buffer.from('{"webhookId":"'), 0xff, 0x22, 0x7d]))],
    ['random bytes', () => raw(Buffer.from('ffffffffffffffffffff0a', 'hex'))],
    ['bytes after the message', () => raw(Buffer.concat([Buffer.from(webhook().body), Buffer.alloc(3)]))],
    ['two messages', () => raw(Buffer.concat([Buffer.from(webhook().body), Buffer.from(webhook().body)]))],
    ['a large message', () => raw(frame(Buffer.alloc(70_000, 0x20)))],
    ['a message of 4 GiB, as it says', () => raw(Buffer.from('00ffffffff0a', 'hex'))],
    ['a flag that means nothing', () => raw(frame(Buffer.alloc(3), { flags: 0x40 }))],
    ['a deadline that has passed', () => webhook({ [timeoutHeader]: timeoutHeader === 'grpc-timeout' ? '0n' : '0' })],
    ['a malformed deadline', () => webhook({ [timeoutHeader]: 'soon' })],
    ['a compression that nobody knows', () => webhook({ [encodingHeader]: 'zip' })],
    ['a compression that is not there', () => webhook({ [encodingHeader]: 'gzip' })],
    ['another version of the protocol', () => webhook({ 'connect-protocol-version': '2' })],
  ])('%s', async (_case, describeCall) => {
    await callBothWays(describeCall());
  });
});

function pathOf(method: DescMethodUnary): string {
  return `/${method.parent.typeName}/${method.name}`;
}
