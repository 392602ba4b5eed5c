/** Usher on a Postgres under Patroni, with the settings of test/examples/patroni. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migrateDatabase } from '../../src/database/migrate.ts';
import { openClient } from '../../src/database/open-client.ts';
import { countMissing, startWrites } from '../support/failover-load.ts';
import { PatroniCluster, SKIPS_PATRONI } from '../support/patroni.ts';
import { clientsOf, createTenant, createTestEvent, startTestService, type TestService } from '../support/service.ts';
import { report } from '../support/soak.ts';

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

  test('a switchover loses no write, and brings no deleted event back', async (context) => {
    const tenant = await createTenant(service);
    const { events } = clientsOf(service, tenant);
    const deleted = await createTestEvent(service, tenant);
    const writes = startWrites(service, tenant);
    await writes.waitForMore(50);
    await events.deleteEvent({ eventId: deleted });
    const before = await cluster.leaderUrlOf('usher');
    await cluster.switchOver();
    await writes.waitForMore(50);
    const { failures, gapSeconds } = await writes.stop();
    await expect.poll(() => cluster.leaderUrlOf('usher')).not.toBe(before);
    const lost = await onLeader('usher', (sql) => countMissing(sql, writes.acknowledged));
    report(context, {
      tried: `switchover of Patroni, ${writes.acknowledged.length} writes`,
      lost: `${lost} acknowledged writes`,
      figures: `${failures} failures, gap ${gapSeconds} s`,
    });
    expect(lost).toBe(0);
    await expect(events.checkIn({ eventId: deleted, attendeeId: 'ada' })).rejects.toThrow('Event not found');
  });
});
