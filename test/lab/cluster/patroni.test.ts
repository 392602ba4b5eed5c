/** Usher on a Postgres under Patroni, with the settings of test/examples/patroni. */
import type postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migrateDatabase } from '../../../src/database/migrate/migrate.ts';
import { onServer } from '../../../src/testing/on-server.ts';
import { openDatabase } from '../../support/database.ts';
import { startWrites } from '../../support/failover-load.ts';
import { PatroniCluster, SKIPS_PATRONI } from '../../support/patroni.ts';
import { clientsOf, createTenant, createTestEvent, startTestService, type TestService } from '../../support/service.ts';
import { report } from '../../support/soak.ts';

/** The lock of a killed leader holds for the `ttl` of 30 seconds, and then a standby has to become synchronous. */
const FAILOVER_TIMEOUT_MS = 90_000;

describe.skipIf(SKIPS_PATRONI)('under Patroni', () => {
  const stack = new AsyncDisposableStack();
  let cluster: PatroniCluster;
  let service: TestService;

  beforeAll(async () => {
    cluster = stack.use(await PatroniCluster.start());
    await onLeader('postgres', (sql) => sql`create database usher`);
    const url = cluster.urlOf('usher');
    await migrateDatabase(url);
    service = stack.use(await startTestService({ database: stack.use(openDatabase(url)) }));
  });
  afterAll(() => stack.disposeAsync());

  const onLeader = async <Result>(database: string, run: (sql: postgres.Sql) => Promise<Result>): Promise<Result> =>
    onServer(await cluster.leaderUrlOf(database), run);

  test.for([
    { fault: 'switchover of Patroni', make: () => cluster.switchOver() },
    { fault: 'kill -9 of the leader and its Patroni', make: () => cluster.killLeader() },
  ])('a $fault loses no write, and brings no deleted event back', async ({ fault, make }, context) => {
    await cluster.waitForStandbys();
    const tenant = await createTenant(service);
    const { events } = clientsOf(service, tenant);
    const deleted = await createTestEvent(service, tenant);
    const writes = startWrites(service, tenant);
    await writes.waitForMore(50);
    await events.deleteEvent({ eventId: deleted });
    const before = await cluster.leaderUrlOf('usher');
    await make();
    await writes.waitForMore(50, FAILOVER_TIMEOUT_MS);
    await expect.poll(() => cluster.leaderUrlOf('usher')).not.toBe(before);
    await writes.finish(context, fault, (count) => onLeader('usher', count));
    await expect(events.checkIn({ eventId: deleted, attendeeId: 'ada' })).rejects.toThrow('Event not found');
  });

  test('a kill -9 of the Patroni of the leader, whose Postgres goes on, loses no write, and writes go on', async (context) => {
    await using own = await PatroniCluster.start();
    const url = own.urlOf('usher');
    await onServer(await own.leaderUrlOf('postgres'), (sql) => sql`create database usher`);
    await migrateDatabase(url);
    await using database = openDatabase(url);
    await using service = await startTestService({ database });
    const tenant = await createTenant(service);
    const writes = startWrites(service, tenant);
    await writes.waitForMore(50);
    const before = await own.leaderUrlOf('usher');
    await own.killLeadersPatroni();
    await own.waitForLeader();
    const promotedAt = performance.now();
    await writes.waitForMore(1, FAILOVER_TIMEOUT_MS);
    const seconds = ((performance.now() - promotedAt) / 1_000).toFixed(2);
    await writes.waitForMore(50, FAILOVER_TIMEOUT_MS);
    expect(await own.leaderUrlOf('usher')).not.toBe(before);
    report(context, { tried: 'kill -9 of Patroni alone', figures: `written ${seconds} s after the promotion` });
    await writes.finish(context, 'kill -9 of Patroni alone', async (count) =>
      onServer(await own.leaderUrlOf('usher'), count),
    );
  });
});
