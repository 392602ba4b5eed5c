/** How the service leaves: what has begun is finished, nothing new is taken, and nobody can hold it up. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { HealthCheckResponse_ServingStatus, HealthCheckResponseSchema } from '../../gen/health/v1/health_pb.ts';
import { CheckInRequestSchema, CheckInResponseSchema } from '../../gen/usher/v1/event_pb.ts';
import { createCertificate } from '../support/certificate.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { type Http2Session, openHttp2Session } from '../support/http2-session.ts';
import { holdLock, lockEvent, waitForLockWaiters } from '../support/lock.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { frame } from '../support/rpc-wire.ts';
import { clientsOf, createTenant, startTestService, type Tenant, type TestService } from '../support/service.ts';

const EVENT = 'the-event';
/** How much longer than it may a close takes on a busy machine. */
const SLACK_MS = 1_500;

let database: TestDatabase;
let service: TestService;
let tenant: Tenant;

beforeAll(async () => {
  database = await cloneDatabase();
});

afterAll(() => database[Symbol.asyncDispose]());

/** Every test closes a service of its own; the database outlives it, so that it can be looked into. */
async function start(config: Partial<TestService['config']> = {}): Promise<void> {
  service = await startTestService({ database, config: { shutdownTimeoutMs: 10_000, ...config } });
  tenant = await createTenant(service);
  await clientsOf(service, tenant).events.createEvent({ eventId: EVENT });
}

beforeEach(async () => {
  await database.sql`truncate applications cascade`;
});

test('nobody waits for housekeeping that waits for a table', async () => {
  await using lock = await holdLock(database, 'lock table login_codes in access exclusive mode');
  await start();
  await waitForLockWaiters(database);
  const closing = service.close();
  await refused(service.port);
  await waitForLockWaiters(database);
  await lock.release();
  await closing;
});

describe('while a call is in flight', () => {
  test('its reply is sent over HTTP/1.1, and then the connection is closed', async () => {
    await start();
    await using lock = await lockEvent(database, EVENT);
    using connection = await RawConnection.open(service.port);
    connection.send(deleteRequest());
    await lock.waitedForBy(1);

    const closing = service.close();
    await refused(service.port);
    await lock.release();

    const reply = await connection.reply();
    expect(reply).toMatchObject({ status: 200, headers: { connection: 'close' } });
    expect(JSON.parse(reply.body)).toEqual({ status: true, message: 'Event deleted successfully' });
    await connection.ended();
    await closing;
    expect(await deletedEvents()).toEqual([EVENT]);
  });

  test('its reply is sent over HTTP/2, for REST and gRPC alike', async () => {
    await start();
    await using lock = await lockEvent(database, EVENT);
    using client = openHttp2Session(service.url);
    const checkIn = callCheckIn(client);
    await lock.waitedForBy(1);
    const remove = client.exchange({ ':method': 'DELETE', ':path': `/api/events/${EVENT}`, ...key() });
    await lock.waitedForBy(2);

    const closing = service.close();
    await refused(service.port);
    await lock.release();

    const { bytes, trailers } = await checkIn;
    expect(trailers).toMatchObject({ 'grpc-status': '0' });
    expect(fromBinary(CheckInResponseSchema, bytes.subarray(5))).toMatchObject({ checkIn: { attendeeId: 'ada' } });
    expect(await remove).toMatchObject({ status: 200 });
    await closing;
    expect(await deletedEvents()).toEqual([EVENT]);
  });

  test('no new connection is taken', async () => {
    await start();
    await using lock = await lockEvent(database, EVENT);
    using connection = await RawConnection.open(service.port);
    connection.send(deleteRequest());
    await lock.waitedForBy(1);
    const closing = service.close();
    await refused(service.port);

    await expect(RawConnection.open(service.port)).rejects.toThrow('ECONNREFUSED');
    await lock.release();
    await closing;
  });

  test('readiness and health say so to whoever is still connected', async () => {
    await start();
    await using lock = await lockEvent(database, EVENT);
    using connection = await RawConnection.open(service.port);
    connection.send(deleteRequest());
    await lock.waitedForBy(1);
    // Their requests have begun, so their connections are not idle.
    const check = '/grpc.health.v1.Health/Check HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n';
    using readiness = await beginRequest('GET /readyz HTTP/1.1\r\n');
    using health = await beginRequest(`POST ${check}`);
    using liveness = await beginRequest('GET /healthz HTTP/1.1\r\n');
    using last = await beginRequest(deleteRequest('another').slice(0, -2));

    const closing = service.close();
    await refused(service.port);
    readiness.send('Host: localhost\r\n\r\n');
    health.send('Host: localhost\r\n\r\n{}');
    liveness.send('Host: localhost\r\n\r\n');
    last.send('\r\n');

    const closes = { connection: 'close' };
    const [ready, healthy, alive, answered] = await Promise.all(
      [readiness, health, liveness, last].map((each) => each.reply()),
    );
    expect(ready).toMatchObject({
      status: 503,
      body: '{"status":"not ready"}',
      headers: { ...closes, 'retry-after': '1' },
    });
    expect(healthy).toMatchObject({ status: 200, body: '{"status":"NOT_SERVING"}', headers: closes });
    expect(alive).toMatchObject({ status: 200, body: '{"status":"ok"}', headers: closes });
    expect(answered).toMatchObject({ status: 404, headers: closes });
    expect(JSON.parse(answered?.body ?? '')).toEqual({ status: false, message: 'Event not found' });
    await Promise.all([readiness, health, liveness, last].map((each) => each.ended()));
    await lock.release();
    await closing;
  });

  test('those who watch the health are told', async () => {
    await start();
    await using lock = await lockEvent(database, EVENT);
    using connection = await RawConnection.open(service.port);
    connection.send(deleteRequest());
    await lock.waitedForBy(1);
    using client = openHttp2Session(service.url);
    const stream = watchHealth(client);
    expect(await nextStatus(stream)).toBe(HealthCheckResponse_ServingStatus.SERVING);

    const closing = service.close();
    expect(await nextStatus(stream)).toBe(HealthCheckResponse_ServingStatus.NOT_SERVING);
    stream.close();
    await lock.release();
    await closing;
  });

  test('a second close waits for the same end', async () => {
    await start();
    await using lock = await lockEvent(database, EVENT);
    using connection = await RawConnection.open(service.port);
    connection.send(deleteRequest());
    await lock.waitedForBy(1);
    const closings = Promise.all([service.close(), service.close()]);
    await refused(service.port);
    await lock.release();

    expect(await connection.reply()).toMatchObject({ status: 200 });
    await closings;
  });
});

describe('what does not end does not keep the service beyond its shutdown timeout', () => {
  const LIMITS = { shutdownTimeoutMs: 300, requestTimeoutMs: 60_000 };

  test.each(['1.1', '2'] as const)('a call over HTTP/%s that waits for Postgres', async (httpVersion) => {
    await start(LIMITS);
    await using lock = await lockEvent(database, EVENT);
    using connection = await RawConnection.open(service.port);
    using client = openHttp2Session(service.url);
    if (httpVersion === '1.1') connection.send(deleteRequest());
    else client.open({ ':method': 'DELETE', ':path': `/api/events/${EVENT}`, ...key() }).end();
    await lock.waitedForBy(1);

    await expectClosedInTime(LIMITS);
  });

  test('a stream of replies', async () => {
    await start(LIMITS);
    using client = openHttp2Session(service.url);
    await nextStatus(watchHealth(client));

    await expectClosedInTime(LIMITS);
  });

  test.each([
    ['a connection that has not said anything', ''],
    ['a connection in the middle of the preface of HTTP/2', 'PRI * HTTP'],
    ['a request in the middle of its headers', 'GET /healthz HTTP/1.1\r\nHost: loc'],
    ['a request in the middle of its body', deleteRequestOf('POST', 'Content-Length: 10\r\n')],
  ])('%s', async (_, bytes) => {
    await start(LIMITS);
    using connection = await RawConnection.open(service.port);
    connection.send(bytes.replace('{key}', tenant.apiKey));
    await settle();

    await expectClosedInTime(LIMITS);
  });

  test('a TLS handshake that does not go on', async () => {
    await using secured = await startTestService({ database, config: { ...LIMITS, tls: await createCertificate() } });
    service = secured;
    using connection = await RawConnection.open(secured.port);
    connection.send(Buffer.from('160301', 'hex'));
    await sleep(50);

    await expectClosedInTime(LIMITS);
  });

  test.each(['1.1', '2'] as const)('an idle connection of HTTP/%s, which is closed at once', async (httpVersion) => {
    await start({ shutdownTimeoutMs: 20_000 });
    using connection = await RawConnection.open(service.port);
    using client = openHttp2Session(service.url);
    if (httpVersion === '1.1') {
      connection.send('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
      expect(await connection.reply()).toMatchObject({ status: 200 });
      client[Symbol.dispose]();
    } else {
      expect(await client.exchange({ ':path': '/healthz' })).toMatchObject({ status: 200 });
      connection[Symbol.dispose]();
    }

    await expectClosedInTime({ shutdownTimeoutMs: 0 });
  });
});

// It may be taken by another test in between.
test('a port that was closed can be taken again', { retry: 1 }, async () => {
  await start();
  const { port } = service;
  await service.close();

  await using again = await startTestService({ database, config: { port } });
  expect(again.port).toBe(port);
});

async function expectClosedInTime({ shutdownTimeoutMs }: { shutdownTimeoutMs: number }): Promise<void> {
  const closing = service.close().then(() => 'closed');
  const late = sleep(shutdownTimeoutMs + SLACK_MS, 'still open', { ref: false });
  const outcome = await Promise.race([closing, late]);
  expect(outcome).toBe('closed');
}

function key(): Record<string, string> {
  return { 'x-api-key': tenant.apiKey };
}

function deleteRequest(eventId = EVENT): string {
  return `DELETE /api/events/${eventId} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${tenant.apiKey}\r\n\r\n`;
}

function deleteRequestOf(method: string, headers: string): string {
  return `${method} /api/oauth/exchange HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n${headers}\r\n{"a"`;
}

function callCheckIn(client: Http2Session) {
  const message = { $typeName: CheckInRequestSchema.typeName, eventId: EVENT, attendeeId: 'ada' } as const;
  return client.exchange(
    {
      ':method': 'POST',
      ':path': '/usher.v1.EventService/CheckIn',
      'content-type': 'application/grpc',
      ...key(),
    },
    frame(toBinary(CheckInRequestSchema, message)),
  );
}

function watchHealth(client: Http2Session) {
  const stream = client.open({
    ':method': 'POST',
    ':path': '/grpc.health.v1.Health/Watch',
    'content-type': 'application/grpc',
  });
  stream.end(frame(''));
  return stream;
}

async function nextStatus(stream: ReturnType<typeof watchHealth>): Promise<HealthCheckResponse_ServingStatus> {
  const [chunk] = await once(stream, 'data', { signal: AbortSignal.timeout(5_000) });
  return fromBinary(HealthCheckResponseSchema, chunk.subarray(5)).status;
}

/** A connection on which a request has begun, and the service knows. */
async function beginRequest(bytes: string): Promise<RawConnection> {
  const connection = await RawConnection.open(service.port);
  connection.send(bytes);
  await settle();
  return connection;
}

/** Until the service, which is in this process, has read what was sent before. */
async function settle(): Promise<void> {
  for (let i = 0; i < 3; i++) {
    using connection = await RawConnection.open(service.port);
    connection.send('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    await connection.reply();
  }
}

/** Until connections to the port are refused. */
async function refused(port: number): Promise<void> {
  for (let i = 0; i < 500; i++) {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
    } catch {
      return;
    } finally {
      socket.destroy();
    }
    await sleep(10);
  }
  throw new Error('Connections are still taken');
}

async function deletedEvents(): Promise<string[]> {
  const rows = await database.sql<{ id: string }[]>`select id from events where deleted_at is not null`;
  return rows.map(({ id }) => id);
}
