/**
 * A client that disconnects, breaks its connection or gives a call up harms no other client and leaves no connection
 * open, and a call whose request was not complete has no effect.
 */
import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { DeleteEventRequestSchema } from '../../gen/usher/v1/event_pb.ts';
import { CLIENT_TIMEOUT_MS } from '../../src/http/connections.ts';
import { createCertificate } from '../support/certificate.ts';
import { encodeFrame, encodeHeaders, encodeNumber, encodePreface, FLAG, FRAME } from '../support/http2-frames.ts';
import { openHttp2Session, readReply } from '../support/http2-session.ts';
import { lockEvent } from '../support/lock.ts';
import { frame } from '../support/protocols.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { clientsOf, createTestEvent, startTestService } from '../support/service.ts';
import { openWebhookFixture } from '../support/webhook-fixture.ts';

const PATH = '/usher.v1.EventService/DeleteEvent';
const CANCEL = 8;

const fixture = await openWebhookFixture({ config: { shutdownTimeoutMs: 500 } });
const { service } = fixture;

afterAll(() => fixture.close());

const headOf = (method: string, path: string) =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${fixture.tenant.apiKey}\r\n`;

const watch = { ':method': 'POST', ':path': '/grpc.health.v1.Health/Watch', 'content-type': 'application/grpc' };
const deletion = { ':method': 'POST', ':path': PATH, 'content-type': 'application/grpc', ...fixture.key };

test.each([
  ['before the first byte', ''],
  ['within the preface of HTTP/2', 'PRI * HT'],
  ['within a body', `${headOf('POST', '/api/oauth/exchange')}Content-Length: 50\r\n\r\n{"a`],
])('50 clients that reset their connections %s harm nobody', async (_, bytes) => {
  const connections = await Promise.all(Array.from({ length: 50 }, () => RawConnection.open(service.port)));
  for (const connection of connections) {
    connection.send(bytes);
    connection.socket.resetAndDestroy();
  }
  await fixture.expectHealthy();
});

test('a client that disconnects while its call waits for Postgres harms nobody', async () => {
  const eventId = await createTestEvent(service, fixture.tenant);
  await using lock = await lockEvent(service.database, eventId);
  const path = `/api/events/${eventId}`;
  {
    using client = openHttp2Session(service.url);
    client.open({ ':method': 'DELETE', ':path': path, ...fixture.key }).end();
    using connection = await RawConnection.open(service.port);
    connection.send(`${headOf('DELETE', path)}\r\n`);
    await lock.waitedForBy(2);
  }
  await fixture.expectHealthy();
  await lock.release();
  await fixture.expectHealthy();
});

test.each<[when: string, headers: Record<string, string>, body: string | Buffer]>([
  ['after a call', fixture.http2, ''],
  ['during a server stream', watch, frame('')],
])('the service closes a connection of HTTP/2 when the client has closed its side %s', async (_, headers, body) => {
  const socket = connectSocket(service.port, '127.0.0.1');
  using client = openHttp2Session(service.url, socket);
  const stream = client.open(headers);
  stream.end(body);
  await once(stream, 'data');
  // Without this, only its limit for idle connections would close it.
  const ended = once(socket, 'end', { signal: AbortSignal.timeout(60_000) });
  socket.end();
  await ended;
});

test('300 pipelined requests close that connection and no other', async () => {
  using other = await RawConnection.open(service.port);
  using connection = await RawConnection.open(service.port);
  const closed = once(connection.socket, 'end');
  connection.send(fixture.raw().repeat(300));
  await closed;
  other.send(fixture.raw());
  fixture.expectWebhook(await other.reply());
});

test.each([
  ['ends', (connection: RawConnection) => connection.socket.end()],
  ['never ends', () => {}],
])('a request whose body %s after it was refused gets no second reply', async (_, proceed) => {
  using connection = await RawConnection.open(service.port);
  connection.send('GET /api/webhooks/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n12');
  expect((await connection.reply()).status).toBe(401);
  proceed(connection);
  const isOver = () => connection.socket.readableEnded || connection.socket.destroyed;
  await expect.poll(isOver).toBe(true);
  expect(connection.ending).toBeDefined();
});

test.each<[string, string | Buffer]>([
  ['a request in cleartext', fixture.raw()],
  ['half a handshake', Buffer.from('160301', 'hex')],
])('over TLS, a client that sends %s and leaves is disconnected and harms nobody', async (_, bytes) => {
  const { database, config: like } = service;
  await using secured = await startTestService({ database, like, config: { tls: await createCertificate() } });
  const { port } = secured;
  using connection = await RawConnection.open(port);
  const closed = once(connection.socket, 'end');
  connection.send(bytes);
  connection.socket.end();
  await closed;
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['h2'] });
  using client = openHttp2Session(secured.url, socket);
  fixture.expectWebhook(await client.exchange(fixture.http2));
});

test('an upload that is refused leaves the other calls of its connection alone', async () => {
  using http2 = openHttp2Session(service.url);
  const watching = http2.open(watch);
  watching.end(frame(''));
  await once(watching.resume(), 'response');
  const upload = http2.open(deletion);
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

describe('DeleteEvent', () => {
  let eventId = '';

  beforeEach(async () => {
    eventId = await createTestEvent(service, fixture.tenant);
  });

  test('a gRPC call that arrives frame by frame is carried out', async () => {
    using client = openFrameClient();
    client.send(encodeHeaders(1, deletion, { endStream: false }), encodeFrame(FRAME.data, 0, 1, deleteFrame()));
    client.send(encodeFrame(FRAME.data, FLAG.endStream, 1));
    await expect.poll(isDeleted).toBe(true);
  });

  test('a gRPC call whose deadline passes before the end of its request has no effect', async () => {
    using http2 = openHttp2Session(service.url);
    const stream = http2.open({ ...deletion, 'grpc-timeout': '100m' });
    stream.write(deleteFrame());
    expect((await readReply(stream)).trailers).toMatchObject({ 'grpc-status': '4' });
    await expectNoEffect();
  });

  test('a gRPC call whose stream is reset before the end of its request has no effect', async () => {
    using client = openFrameClient();
    client.send(encodeHeaders(1, deletion, { endStream: false }), encodeFrame(FRAME.data, 0, 1, deleteFrame()));
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
        `${headOf('POST', PATH)}Content-Type: ${contentType}\r\n` +
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
      client.send(encodeHeaders(stream, { ...deletion, expect: '100-continue' }, { endStream: false }));
      // By then the API key has been checked.
      await sleep(5);
      client.send(encodeFrame(FRAME.data, 0, stream, Buffer.of(0)), encodeNumber(FRAME.reset, stream, CANCEL));
    }
    await expectNoEffect();
    // An unhandled error would fail the test run.
    await fixture.expectHealthy();
  });

  /** Sends HTTP/2 frames and ignores what comes back. */
  function openFrameClient() {
    const socket = connectSocket({ port: service.port, host: '127.0.0.1', noDelay: true });
    socket.on('error', () => {}).resume();
    const send = (...frames: Buffer[]) => void socket.write(Buffer.concat(frames));
    send(encodePreface());
    return { send, [Symbol.dispose]: () => void socket.destroy() };
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
      const otherId = await createTestEvent(service, fixture.tenant);
      await clientsOf(service, fixture.tenant).events.deleteEvent({ eventId: otherId });
    }
    expect(await isDeleted()).toBe(false);
  }
});
