/** Nothing that a client or the database does keeps a service open beyond its shutdown timeout. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { createCertificate } from '../support/certificate.ts';
import { cloneDatabase } from '../support/database.ts';
import { HABITS, hold } from '../support/hostile-clients.ts';
import { openHttpClient } from '../support/http.ts';
import { openHttp2Session } from '../support/http2-session.ts';
import { holdLock, waitForLockWaiters } from '../support/lock.ts';
import { frame } from '../support/protocols.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { startTestService } from '../support/service.ts';
import { openShutdownFixture } from '../support/shutdown-fixture.ts';

/** Each obstacle would last far longer than `GIVE_UP_MS`. */
const LIMITS = { shutdownTimeoutMs: 300 };
const GIVE_UP_MS = 5_000;

const database = await cloneDatabase();

afterAll(() => database[Symbol.asyncDispose]());

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

  test.each(Object.entries(HABITS))('clients that %s', async (_, habitOf) => {
    const fixture = await openShutdownFixture(database, LIMITS);
    const { service, apiKey } = fixture;
    const victim = { port: service.port, apiKey, path: '/healthz' };
    const closed = hold(habitOf(victim), victim, 60_000);
    await sleep(100);
    await expectClosed(fixture);
    await closed;
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
      const fixture = await openShutdownFixture(database, { shutdownTimeoutMs: 25_000 });
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

async function expectClosed({ service }: { service: { close(): Promise<void> } }): Promise<void> {
  const closing = service.close().then(() => 'closed');
  expect(await Promise.race([closing, sleep(GIVE_UP_MS, 'still open', { ref: false })])).toBe('closed');
}
