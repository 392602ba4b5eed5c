/** A call whose caller has given up before its request was complete has no effect and harms no other call. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { DeleteEventRequestSchema } from '../../gen/usher/v1/event_pb.ts';
import { CLIENT_TIMEOUT_MS } from '../../src/http/connections.ts';
import { request } from '../support/http.ts';
import { encodeFrame, encodeHeaders, encodeNumber, encodePreface, FLAG, FRAME } from '../support/http2-frames.ts';
import { openHttp2Session, readReply } from '../support/http2-session.ts';
import { frame } from '../support/protocols.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { clientsOf, createTenant, createTestEvent, startTestService } from '../support/service.ts';

const PATH = '/usher.v1.EventService/DeleteEvent';
const CANCEL = 8;

let eventId = '';

const service = await startTestService({ config: { requestTimeoutMs: 2_000 } });
const tenant = await createTenant(service);

beforeEach(async () => {
  eventId = await createTestEvent(service, tenant);
});

afterAll(() => service.close());

test('a gRPC call that arrives frame by frame is carried out', async () => {
  using client = openFrameClient();
  client.send(encodeHeaders(1, grpcHeaders(), { endStream: false }), encodeFrame(FRAME.data, 0, 1, deleteFrame()));
  client.send(encodeFrame(FRAME.data, FLAG.endStream, 1));
  await expect.poll(isDeleted).toBe(true);
});

test('a gRPC call whose deadline passes before the end of its request has no effect', async () => {
  using http2 = openHttp2Session(service.url);
  const stream = http2.open({ ...grpcHeaders(), 'grpc-timeout': '100m' });
  stream.write(deleteFrame());
  expect((await readReply(stream)).trailers).toMatchObject({ 'grpc-status': '4' });
  await expectNoEffect();
});

test('a gRPC call whose stream is reset before the end of its request has no effect', async () => {
  using client = openFrameClient();
  client.send(encodeHeaders(1, grpcHeaders(), { endStream: false }), encodeFrame(FRAME.data, 0, 1, deleteFrame()));
  await sleep(50);
  client.send(encodeNumber(FRAME.reset, 1, CANCEL));
  await expectNoEffect();
});

// With parameters, a content type takes the general path through Connect.
test.each(['application/json', 'application/json; charset=utf-8'])(
  'a Connect call of type %s whose deadline passes within its body has no effect',
  async (contentType) => {
    using connection = await RawConnection.open(service.port);
    const body = JSON.stringify({ eventId });
    connection.send(
      `POST ${PATH} HTTP/1.1\r\nHost: usher.test\r\nX-API-Key: ${tenant.apiKey}\r\nContent-Type: ${contentType}\r\n` +
        `Connect-Timeout-Ms: 100\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
    );
    expect((await connection.reply()).status).toBe(504);
    connection.send(body.slice(5));
    await expectNoEffect();
  },
);

test('gRPC calls that expect 100 Continue may be reset within their first message', async () => {
  using client = openFrameClient();
  for (let stream = 1; stream < 40; stream += 2) {
    client.send(encodeHeaders(stream, { ...grpcHeaders(), expect: '100-continue' }, { endStream: false }));
    // By then the API key has been checked.
    await sleep(5);
    client.send(encodeFrame(FRAME.data, 0, stream, Buffer.of(0)), encodeNumber(FRAME.reset, stream, CANCEL));
  }
  await expectNoEffect();
  // An unhandled error would fail the test run.
  expect((await request(service.url, { path: '/healthz' })).status).toBe(200);
});

test('an upload that is refused leaves the other calls of its connection alone', async () => {
  using http2 = openHttp2Session(service.url);
  const path = '/grpc.health.v1.Health/Watch';
  const watching = http2.open({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
  watching.end(frame(''));
  await once(watching.resume(), 'response');
  const upload = http2.open(grpcHeaders());
  const reply = readReply(upload);
  const bytes = frame(Buffer.alloc(300_000));
  // In pieces, so that some arrive after the refusal.
  for (let at = 0; at < 120_000; at += 1_000) {
    upload.write(bytes.subarray(at, at + 1_000));
    await new Promise(setImmediate);
  }
  // RESOURCE_EXHAUSTED: the message is too large.
  expect((await reply).trailers).toMatchObject({ 'grpc-status': '8' });
  // The service closes a connection that it has waited for that long.
  await sleep(CLIENT_TIMEOUT_MS + 2_000);
  expect({ isEnded: watching.closed, isConnected: !http2.session.destroyed }).toEqual({
    isEnded: false,
    isConnected: true,
  });
});

/** Sends HTTP/2 frames and ignores what comes back. */
function openFrameClient() {
  const socket = connect({ port: service.port, host: '127.0.0.1', noDelay: true });
  socket.on('error', () => {}).resume();
  const send = (...frames: Buffer[]) => void socket.write(Buffer.concat(frames));
  send(encodePreface());
  return { send, [Symbol.dispose]: () => void socket.destroy() };
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

/** By the time two later deletes are done, the abandoned one would be. */
async function expectNoEffect(): Promise<void> {
  for (let later = 0; later < 2; later++) {
    await clientsOf(service, tenant).events.deleteEvent({ eventId: await createTestEvent(service, tenant) });
  }
  expect(await isDeleted()).toBe(false);
}
