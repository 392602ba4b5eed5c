/** Calls that nobody waits for any more when they are all there: they must not take effect, and do no harm. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { DeleteEventRequestSchema } from '../../../gen/usher/v1/event_pb.ts';
import { PATIENCE_MS } from '../../../src/http/connections.ts';
import { request } from '../../support/http.ts';
import { encodeFrame, encodeHeaders, encodeNumber, encodePreface, FLAG, FRAME } from '../../support/http2-frames.ts';
import { openHttp2Session, readReply } from '../../support/http2-session.ts';
import { RawConnection } from '../../support/raw-connection.ts';
import { frame } from '../../support/rpc-wire.ts';
import { clientsOf, createTenant, startTestService, type Tenant, type TestService } from '../../support/service.ts';

const PATH = '/usher.v1.EventService/DeleteEvent';
const CANCEL = 8;
/** Longer than a delete takes. */
const SETTLE_MS = 300;

let service: TestService;
let tenant: Tenant;
let eventId = '';
let events = 0;

beforeAll(async () => {
  service = await startTestService({ config: { requestTimeoutMs: 2_000 } });
  tenant = await createTenant(service);
});

beforeEach(async () => {
  eventId = `event-${++events}`;
  await clientsOf(service, tenant).events.createEvent({ eventId });
});

afterAll(() => service.close());

test('over gRPC: a call that is there in time is carried out, also frame by frame', async () => {
  using client = new RawHttp2();
  client.send(encodeHeaders(1, grpcHeaders(), { endStream: false }), encodeFrame(FRAME.data, 0, 1, deleteFrame()));
  client.send(encodeFrame(FRAME.data, FLAG.endStream, 1));
  await expect.poll(isDeleted).toBe(true);
});

test('over gRPC: its deadline passes before the end of its request', async () => {
  using http2 = openHttp2Session(service.url);
  const stream = http2.open({ ...grpcHeaders(), 'grpc-timeout': '100m' });
  stream.write(deleteFrame());
  expect((await readReply(stream)).trailers).toMatchObject({ 'grpc-status': '4' });
  await sleep(SETTLE_MS);
  expect(await isDeleted()).toBe(false);
});

test('over gRPC: the stream is reset before the end of its request', async () => {
  using client = new RawHttp2();
  client.send(encodeHeaders(1, grpcHeaders(), { endStream: false }), encodeFrame(FRAME.data, 0, 1, deleteFrame()));
  await sleep(50);
  client.send(encodeNumber(FRAME.reset, 1, CANCEL));
  await sleep(SETTLE_MS);
  expect(await isDeleted()).toBe(false);
});

test.each(['application/json', 'application/json; charset=utf-8'])(
  'over Connect: its deadline passes in the middle of a body of type %s',
  async (contentType) => {
    using connection = await RawConnection.open(service.port);
    const body = JSON.stringify({ eventId });
    const head = [
      `POST ${PATH} HTTP/1.1`,
      'Host: usher.test',
      `X-API-Key: ${tenant.apiKey}`,
      `Content-Type: ${contentType}`,
      'Connect-Timeout-Ms: 100',
      `Content-Length: ${body.length}`,
    ];
    connection.send(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 5)}`);
    expect((await connection.reply()).status).toBe(504);
    connection.send(body.slice(5));
    await sleep(SETTLE_MS);
    expect(await isDeleted()).toBe(false);
  },
);

test('over gRPC: the stream is reset while it is passed on, and waits to be told to continue', async () => {
  using client = new RawHttp2();
  for (let stream = 1; stream < 40; stream += 2) {
    client.send(encodeHeaders(stream, { ...grpcHeaders(), expect: '100-continue' }, { endStream: false }));
    // Its key is known: by then it is past the gate.
    await sleep(5);
    client.send(encodeFrame(FRAME.data, 0, stream, Buffer.of(0)), encodeNumber(FRAME.reset, stream, CANCEL));
  }
  await sleep(SETTLE_MS);
  // What escapes from the service fails this run by itself.
  expect((await request(service.url, { path: '/healthz' })).status).toBe(200);
});

test('an upload that was refused takes no other call on its connection along', async () => {
  using http2 = openHttp2Session(service.url);
  const watching = http2.open({
    ':method': 'POST',
    ':path': '/grpc.health.v1.Health/Watch',
    'content-type': 'application/grpc',
  });
  watching.end(frame(''));
  await once(watching.resume(), 'response');
  const upload = http2.open(grpcHeaders());
  const reply = readReply(upload);
  const bytes = frame(Buffer.alloc(300_000));
  // In pieces, so that some come while it is being refused.
  for (let at = 0; at < 60_000; at += 1_000) {
    upload.write(bytes.subarray(at, at + 1_000));
    await new Promise(setImmediate);
  }
  // Resource exhausted: no message may be so large.
  expect((await reply).trailers).toMatchObject({ 'grpc-status': '8' });
  // Longer than the service waits for anybody.
  await sleep(PATIENCE_MS + 2_000);
  expect({ isEnded: watching.closed, isConnected: !http2.session.destroyed }).toEqual({
    isEnded: false,
    isConnected: true,
  });
});

test('a call over gRPC that is passed on in the middle keeps its deadline', async () => {
  using http2 = openHttp2Session(service.url);
  const startedAt = performance.now();
  const stream = http2.open(grpcHeaders());
  await sleep(1_500);
  stream.write(deleteFrame().subarray(0, 1));
  // Connect's own words for it, and ours: either way two seconds after it came.
  expect(['4', '14']).toContain((await readReply(stream)).trailers['grpc-status']);
  expect(performance.now() - startedAt).toBeLessThan(3_000);
});

/** A client that sends frames as it likes, and listens to nothing. */
class RawHttp2 implements Disposable {
  readonly #socket = connect({ port: service.port, host: '127.0.0.1', noDelay: true });

  constructor() {
    this.#socket.on('error', () => {}).resume();
    this.send(encodePreface());
  }

  send(...frames: Buffer[]): void {
    this.#socket.write(Buffer.concat(frames));
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

function grpcHeaders(): Record<string, string> {
  return { ':method': 'POST', ':path': PATH, 'content-type': 'application/grpc', 'x-api-key': tenant.apiKey };
}

function deleteFrame(): Buffer {
  return frame(toBinary(DeleteEventRequestSchema, create(DeleteEventRequestSchema, { eventId })));
}

async function isDeleted(): Promise<boolean> {
  const [event] = await service.database.sql`select deleted_at from events where id = ${eventId}`;
  return event?.deleted_at !== null;
}
