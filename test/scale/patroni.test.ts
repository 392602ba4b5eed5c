/** Usher on a Postgres under Patroni, with the settings of test/examples/patroni. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migrateDatabase } from '../../src/database/migrate.ts';
import { openClient } from '../../src/database/open-client.ts';
import { countMissing, startWrites } from '../support/failover-load.ts';
import { PatroniCluster, SKIPS_PATRONI } from '../support/patroni.ts';
import { clientsOf, createTenant, createTestEvent, startTestService, type TestService } from '../support/service.ts';
import { report } from '../support/soak.ts';

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
    const database = { url, sql: undefined as never, [Symbol.asyncDispose]: async () => {} };
    service = stack.use(await startTestService({ database }));
  });
  afterAll(() => stack.disposeAsync());

  async function onLeader<Result>(
    database: string,
    run: (sql: ReturnType<typeof openClient>) => Promise<Result>,
  ): Promise<Result> {
    const sql = openClient(await cluster.leaderUrlOf(database), { max: 1, onnotice: () => {} });
    try {
      return await run(sql);
    } finally {
      await sql.end({ timeout: 1 });
    }
  }

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
    const { failures, gapSeconds } = await writes.stop();
    await expect.poll(() => cluster.leaderUrlOf('usher')).not.toBe(before);
    const lost = await onLeader('usher', (sql) => countMissing(sql, writes.acknowledged));
    report(context, {
      tried: `${fault}, ${writes.acknowledged.length} writes`,
      lost: `${lost} acknowledged writes`,
      figures: `${failures} failures, gap ${gapSeconds} s`,
    });
    expect(lost).toBe(0);
    await expect(events.checkIn({ eventId: deleted, attendeeId: 'ada' })).rejects.toThrow('Event not found');
  });
});
