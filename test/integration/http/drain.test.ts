/** A service that is closed finishes the calls in flight and accepts no new connections. */
import { once } from 'node:events';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { HealthCheckResponse_ServingStatus, HealthCheckResponseSchema } from '../../../gen/health/v1/health_pb.ts';
import { CheckInRequestSchema, CheckInResponseSchema } from '../../../gen/usher/v1/event_pb.ts';
import { cloneDatabase } from '../../support/database.ts';
import { request } from '../../support/http.ts';
import { openHttp2Session } from '../../support/http2-session.ts';
import type { EventLock } from '../../support/lock.ts';
import { frame } from '../../support/protocols.ts';
import { RawConnection } from '../../support/raw-connection.ts';
import { openShutdownFixture, type ShutdownFixture } from '../../support/shutdown-fixture.ts';

/** Long enough for a few calls on a busy machine. */
const DELAY_MS = 4_000;
const GRPC = { ':method': 'POST', 'content-type': 'application/grpc' };

let fixture: ShutdownFixture;
let lock: EventLock;

const database = await cloneDatabase();

afterAll(() => database[Symbol.asyncDispose]());

beforeEach(async () => {
  fixture = await openShutdownFixture(database);
  lock = await fixture.lockEvent();
});

test('finishes a call over HTTP/1.1, then closes its connection, and refuses new ones', async () => {
  using connection = await fixture.send(fixture.deleteRequest());
  await lock.waitedForBy(1);
  const { closed } = await fixture.beginClose();
  await expect(RawConnection.open(fixture.service.port)).rejects.toThrow('ECONNREFUSED');
  const closedAgain = fixture.service.close();
  await lock.release();

  const reply = await connection.reply();
  expect(reply).toMatchObject({ status: 200, headers: { connection: 'close' } });
  expect(JSON.parse(reply.body)).toEqual({ status: true, message: 'Event deleted successfully' });
  await connection.ended();
  await Promise.all([closed, closedAgain]);
  expect(await fixture.isDeleted()).toBe(true);
});

test('finishes a REST call and a gRPC call over HTTP/2', async () => {
  const { service, eventId, key } = fixture;
  using client = openHttp2Session(service.url);
  const message = toBinary(CheckInRequestSchema, create(CheckInRequestSchema, { eventId, attendeeId: 'ada' }));
  const checkIn = client.exchange({ ...GRPC, ':path': '/usher.v1.EventService/CheckIn', ...key }, frame(message));
  await lock.waitedForBy(1);
  const restCall = { ':method': 'POST', ':path': `/api/events/${eventId}/check-ins`, ...key };
  const checkInOverRest = client.exchange(restCall, '{"attendeeId":"grace"}');
  await lock.waitedForBy(2);
  const { closed } = await fixture.beginClose();
  await lock.release();

  const { bytes, trailers } = await checkIn;
  expect(trailers).toMatchObject({ 'grpc-status': '0' });
  expect(fromBinary(CheckInResponseSchema, bytes.subarray(5))).toMatchObject({ checkIn: { attendeeId: 'ada' } });
  expect(await checkInOverRest).toMatchObject({ status: 201 });
  await closed;
});

test('answers requests that had begun: not ready, not serving, and alive', async () => {
  using inFlight = await fixture.send(fixture.deleteRequest());
  await lock.waitedForBy(1);
  const host = 'Host: localhost\r\n\r\n';
  const check = 'POST /grpc.health.v1.Health/Check HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n';
  const begun = [
    { head: 'GET /readyz HTTP/1.1\r\n', rest: host },
    { head: check, rest: `${host}{}` },
    { head: 'GET /healthz HTTP/1.1\r\n', rest: host },
    { head: fixture.deleteRequest('another').slice(0, -2), rest: '\r\n' },
  ];
  const connections = await Promise.all(begun.map(({ head }) => fixture.send(head)));
  const { closed } = await fixture.beginClose();
  for (const [at, { rest }] of begun.entries()) connections[at]?.send(rest);

  const [ready, healthy, alive, remove] = await Promise.all(connections.map((connection) => connection.reply()));
  const headers = { connection: 'close' };
  expect(ready).toMatchObject({ status: 503, body: '{"status":"not ready"}', headers: { 'retry-after': '1' } });
  expect(healthy).toMatchObject({ status: 200, body: '{"status":"NOT_SERVING"}', headers });
  expect(alive).toMatchObject({ status: 200, body: '{"status":"ok"}', headers });
  expect(remove).toMatchObject({ status: 404, headers });
  await Promise.all(connections.map((connection) => connection.ended()));
  await lock.release();
  await closed;
  expect(await inFlight.reply()).toMatchObject({ status: 200 });
});

test('takes connections and calls for SHUTDOWN_DELAY_MS after readiness fails', async () => {
  await lock.release();
  await fixture.service.close();
  const delayed = await openShutdownFixture(database, { shutdownDelayMs: DELAY_MS });
  const { service, key } = delayed;
  using client = openHttp2Session(service.url);
  const watch = client.open({ ...GRPC, ':path': '/grpc.health.v1.Health/Watch' });
  watch.end(frame(''));
  await once(watch, 'data');

  const closed = service.close();
  const [chunk] = await once(watch, 'data');
  const { status } = fromBinary(HealthCheckResponseSchema, chunk.subarray(5));
  expect(status).toBe(HealthCheckResponse_ServingStatus.NOT_SERVING);
  expect(await request(service.url, { path: '/readyz' })).toMatchObject({ status: 503 });
  const path = `/api/events/${delayed.eventId}`;
  expect(await request(service.url, { method: 'DELETE', path, headers: key })).toMatchObject({ status: 200 });
  expect(await client.exchange({ ':method': 'GET', ':path': '/healthz' })).toMatchObject({ status: 200 });
  expect(watch.readableEnded).toBe(false);

  await closed;
  await expect(RawConnection.open(service.port)).rejects.toThrow('ECONNREFUSED');
});

test('tells those who watch the health that it is not serving', async () => {
  using inFlight = await fixture.send(fixture.deleteRequest());
  await lock.waitedForBy(1);
  using client = openHttp2Session(fixture.service.url);
  const stream = client.open({ ...GRPC, ':path': '/grpc.health.v1.Health/Watch' });
  stream.end(frame(''));
  const nextStatus = async () => {
    const [chunk] = await once(stream, 'data', { signal: AbortSignal.timeout(10_000) });
    return fromBinary(HealthCheckResponseSchema, chunk.subarray(5)).status;
  };
  expect(await nextStatus()).toBe(HealthCheckResponse_ServingStatus.SERVING);

  const closed = fixture.service.close();
  expect(await nextStatus()).toBe(HealthCheckResponse_ServingStatus.NOT_SERVING);
  stream.close();
  await lock.release();
  await closed;
  expect(await inFlight.reply()).toMatchObject({ status: 200 });
});
