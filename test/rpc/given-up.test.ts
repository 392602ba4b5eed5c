/** Calls that nobody waits for any more when they are all there: they must not take effect, and do no harm. */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { DeleteEventRequestSchema } from '../../gen/usher/v1/event_pb.ts';
import { request } from '../support/http.ts';
import { encodeFrame, encodeHeaders, encodeNumber, encodePreface, FRAME } from '../support/http2-frames.ts';
import { openHttp2Session, readReply } from '../support/http2-session.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { frame } from '../support/rpc-wire.ts';
import { clientsOf, createTenant, startTestService, type Tenant, type TestService } from '../support/service.ts';

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
