/** A shutdown drops no call, and nothing that a client or the database does keeps it from ending in time. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import { afterAll, describe, expect, test } from 'vitest';
import { CreateEventRequestSchema, EventService } from '../../gen/usher/v1/event_pb.ts';
import { createCertificate } from '../support/certificate.ts';
import { cloneDatabase } from '../support/database.ts';
import { GrpcClient } from '../support/grpc-client.ts';
import { HABITS, hold } from '../support/hostile-clients.ts';
import { HttpPool, openHttpClient } from '../support/http.ts';
import { openHttp2Session } from '../support/http2-session.ts';
import { startLoad } from '../support/load.ts';
import { holdLock, waitForLockWaiters } from '../support/lock.ts';
import { startUsher, type UsherProcess } from '../support/process.ts';
import { frame } from '../support/protocols.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { createTenant, startTestService } from '../support/service.ts';
import { openShutdownFixture } from '../support/shutdown-fixture.ts';
import { quickOrLong, report } from '../support/soak.ts';

const ROUNDS = quickOrLong(1, 20);
const CALLERS = 32;
/** How many calls the service has answered before the signal. */
const WARM_UP_CALLS = 200;
/** The service's own limit, and what it allows for closing the database. The long form judges it. */
const SHUTDOWN_MS = 15_000;
/** On a busy machine, calls in flight take seconds. Only the long form has the default, and judges times. */
const SETTINGS: Record<string, string> = quickOrLong({ SHUTDOWN_TIMEOUT_MS: '60000' }, {});
/** Outcomes of calls that the service has not accepted. */
const NOT_ACCEPTED = /ECONNREFUSED|^503$|UNAVAILABLE Service unavailable/;

/** Each obstacle would last far longer than `GIVE_UP_MS`. */
const LIMITS = { shutdownTimeoutMs: 300, requestTimeoutMs: 600_000 };
/** On a busy machine a close takes seconds. */
const GIVE_UP_MS = 120_000;

const database = await cloneDatabase();

afterAll(() => database[Symbol.asyncDispose]());

test.for([
  { protocol: 'HTTP/1.1', open: openHttp1 },
  { protocol: 'gRPC over HTTP/2', open: openGrpc },
])(
  'SIGTERM under load over $protocol drops no call and ends the process in time',
  async ({ protocol, open }, context) => {
    const created: string[] = [];
    const dropped: string[] = [];
    let slowestExitMs = 0;
    for (let round = 0; round < ROUNDS; round++) {
      await using service = await startUsher(database.url, SETTINGS);
      using creator = open(service, (await createTenant(service)).apiKey);
      let made = 0;
      const createEvent = async () => {
        const eventId = `${protocol}-${round}-${made++}`;
        const outcome = await creator.createEvent(eventId);
        if (outcome === 'ok') created.push(eventId);
        else if (!NOT_ACCEPTED.test(outcome)) dropped.push(`${eventId}: ${outcome}`);
        return outcome;
      };
      const load = startLoad({ createEvent }, { callers: CALLERS });
      await expect.poll(() => load.answers.length, { interval: 5 }).toBeGreaterThan(WARM_UP_CALLS);

      const askedAt = performance.now();
      expect(await service.end('SIGTERM')).toBe(0);
      slowestExitMs = Math.max(slowestExitMs, performance.now() - askedAt);
      await load.stop();
    }

    const rows = await database.sql<{ id: string }[]>`select id from events where starts_with(id, ${protocol})`;
    report(context, {
      tried: `${ROUNDS} times SIGTERM under load over ${protocol}, ${created.length} calls answered`,
      lost: `${dropped.length} calls`,
      figures: `the slowest exit took ${Math.round(slowestExitMs)} ms`,
    });
    expect(dropped).toEqual([]);
    // Every acknowledged event exists, and no other.
    expect(rows.map(({ id }) => id).sort()).toEqual(created.sort());
    if (quickOrLong(false, true)) expect(slowestExitMs).toBeLessThan(SHUTDOWN_MS);
  },
);

describe('the service closes despite', () => {
  test.each(['1.1', '2'] as const)('a call over HTTP/%s that waits for Postgres', async (httpVersion) => {
    const fixture = await openShutdownFixture(database, LIMITS);
    await using lock = await fixture.lockEvent();
    using client = openHttpClient(fixture.service.url, { httpVersion });
    const call = client.send({ method: 'DELETE', path: `/api/events/${fixture.eventId}`, headers: fixture.key });
    call.catch(() => {});
    await lock.waitedForBy(1);
    await expectClosed(fixture);
  });

  test('a stream of replies', async () => {
    const fixture = await openShutdownFixture(database, LIMITS);
    using client = openHttp2Session(fixture.service.url);
    const path = '/grpc.health.v1.Health/Watch';
    const stream = client.open({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
    stream.end(frame(''));
    await once(stream, 'data');
    await expectClosed(fixture);
  });

  test('clients of every bad habit', async () => {
    const fixture = await openShutdownFixture(database, LIMITS);
    const { service, apiKey } = fixture;
    const victim = { port: service.port, apiKey, path: '/healthz' };
    const held = new Set(Object.keys(HABITS));
    for (const [clients, habitOf] of Object.entries(HABITS))
      void hold(habitOf(victim), victim, 600_000).then(() => held.delete(clients));
    await sleep(100);
    await expectClosed(fixture, held);
    await expect.poll(() => [...held]).toEqual([]);
  });

  test('half a TLS handshake', async () => {
    const service = await startTestService({ database, config: { ...LIMITS, tls: await createCertificate() } });
    using connection = await RawConnection.open(service.port);
    connection.send(Buffer.from('160301', 'hex'));
    await sleep(50);
    await expectClosed({ service });
  });

  test.each(['1.1', '2'] as const)(
    'an idle connection of HTTP/%s, without waiting for the timeout',
    async (httpVersion) => {
      const fixture = await openShutdownFixture(database, { shutdownTimeoutMs: 600_000 });
      using client = openHttpClient(fixture.service.url, { httpVersion });
      expect(await client.send({ path: '/healthz' })).toMatchObject({ status: 200 });
      await expectClosed(fixture);
    },
  );

  test('an expiry job that waits for a table', async () => {
    await using lock = await holdLock(database, 'lock table login_codes in access exclusive mode');
    const fixture = await openShutdownFixture(database);
    await waitForLockWaiters(database);
    const { closed } = await fixture.beginClose();
    await lock.release();
    await closed;
  });
});

/** What is still held shows in a failure. */
async function expectClosed(
  { service }: { service: { close(): Promise<void> } },
  held: ReadonlySet<string> = new Set(),
): Promise<void> {
  const closing = service.close().then(() => 'closed');
  const outcome = await Promise.race([closing, sleep(GIVE_UP_MS, 'still open', { ref: false })]);
  expect(outcome, `with clients that ${[...held].join(', ')}`).toBe('closed');
}

/** Its `createEvent` resolves to `ok`, or to the error. */
function openHttp1(service: UsherProcess, apiKey: string) {
  const pool = new HttpPool(service, { 'x-api-key': apiKey }, { connections: CALLERS });
  const createEvent = (eventId: string) =>
    pool.call('POST', '/usher.v1.EventService/CreateEvent', { eventId }).then(
      ({ status }) => (status === 200 ? 'ok' : String(status)),
      (error) => String(error.code ?? error),
    );
  return { createEvent, [Symbol.dispose]: () => pool[Symbol.dispose]() };
}

function openGrpc(service: UsherProcess, apiKey: string) {
  const client = new GrpcClient(service);
  const headers = { 'x-api-key': apiKey };
  const createEvent = async (eventId: string) => {
    const message = create(CreateEventRequestSchema, { eventId });
    const { code, details } = await client.unary(EventService.method.createEvent, message, { headers });
    return code === 'OK' ? 'ok' : `${code} ${details}`;
  };
  return { createEvent, [Symbol.dispose]: () => client[Symbol.dispose]() };
}
