/** A client that disconnects, or breaks its connection, harms no other client and leaves no connection open. */
import { once } from 'node:events';
import { connect as connectSocket, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createCertificate } from '../support/certificate.ts';
import { openHttp2Session } from '../support/http2-session.ts';
import { lockEvent } from '../support/lock.ts';
import { frame } from '../support/protocols.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { createTestEvent, startTestService, type TestService } from '../support/service.ts';
import { openWebhookFixture } from '../support/webhook-fixture.ts';

const fixture = await openWebhookFixture({ config: { shutdownTimeoutMs: 500 } });
const { service } = fixture;

afterAll(() => fixture.close());

const headOf = (method: string, path: string) =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${fixture.tenant.apiKey}\r\n`;

describe('50 clients that reset their connections harm nobody', () => {
  test.each<[string, () => string]>([
    ['before the first byte', () => ''],
    ['within the preface of HTTP/2', () => 'PRI * HT'],
    ['within a body', () => `${headOf('POST', '/api/oauth/exchange')}Content-Length: 50\r\n\r\n{"a`],
  ])('%s', async (_, bytes) => {
    const connections = await Promise.all(Array.from({ length: 50 }, () => RawConnection.open(service.port)));
    for (const connection of connections) {
      connection.send(bytes());
      connection.socket.resetAndDestroy();
    }
    await fixture.expectHealthy();
  });
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

const watch = { ':method': 'POST', ':path': '/grpc.health.v1.Health/Watch', 'content-type': 'application/grpc' };

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
  const ended = once(socket, 'end', { signal: AbortSignal.timeout(20_000) });
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

describe('over TLS', () => {
  let secured: TestService;

  beforeAll(async () => {
    const { database, config: like } = service;
    secured = await startTestService({ database, like, config: { tls: await createCertificate() } });
  });

  afterAll(() => secured.close());

  test.each<[string, () => string | Buffer]>([
    ['a request in cleartext', () => fixture.raw()],
    ['half a handshake', () => Buffer.from('160301', 'hex')],
  ])('a client that sends %s and leaves is disconnected and harms nobody', async (_, bytes) => {
    using connection = await RawConnection.open(secured.port);
    const closed = once(connection.socket, 'end');
    connection.send(bytes());
    connection.socket.end();
    await closed;
    using client = openHttp2Session(secured.url, await openTls());
    fixture.expectWebhook(await client.exchange(fixture.http2));
  });

  async function openTls(): Promise<Socket> {
    const { port } = secured;
    const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['h2'] });
    await once(socket, 'secureConnect');
    return socket;
  }
});
