/** Usher on a primary with a synchronous standby. Needs the Postgres of Debian, or PG_BIN. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migrateDatabase } from '../../src/database/migrate.ts';
import { DebianPostgres, hasDebianPostgres } from '../support/debian-postgres.ts';
import { request } from '../support/http.ts';
import {
  clientsOf,
  createTenant,
  createTestWebhook,
  startTestService,
  type Tenant,
  type TestService,
} from '../support/service.ts';

const REQUEST_TIMEOUT_MS = 2_000;
const CONNECTIONS = 4;
/** Reads, the control connection, and statements that wait for locks. */
const OTHER_CONNECTIONS = 2 + 1 + 8;
const SYNCHRONOUS = { synchronous_standby_names: 'twin', synchronous_commit: 'on' };

describe.runIf(hasDebianPostgres)('with a synchronous standby', { timeout: 120_000 }, () => {
  const stack = new AsyncDisposableStack();
  let one: DebianPostgres;
  let two: DebianPostgres;
  let service: TestService;
  let tenant: Tenant;
  let webhookId: string;

  beforeAll(async () => {
    one = stack.use(await DebianPostgres.start());
    await one.sql('postgres', (sql) => sql`create database usher`);
    two = stack.use(await one.startStandby('twin'));
    await setSettings(one, SYNCHRONOUS);
    // The standby comes first: the start has to go on to the primary.
    const url = `postgres://usher@${two.address},${one.address}/usher`;
    await migrateDatabase(url);
    const database = { url, sql: undefined as never, [Symbol.asyncDispose]: async () => {} };
    const config = { requestTimeoutMs: REQUEST_TIMEOUT_MS, databaseConnections: CONNECTIONS };
    service = stack.use(await startTestService({ database, config }));
    tenant = await createTenant(service);
    ({ webhookId } = await createTestWebhook(service, tenant));
  }, 120_000);
  afterAll(() => stack.disposeAsync());

  test('while its commits wait, reads succeed, writes end at their deadline, and connections are bounded', async () => {
    await two.down('immediate');
    const writes = startLoad(20, () => write(service, tenant));
    const reads = startLoad(4, () => clientsOf(service, tenant).webhooks.getWebhook({ webhookId }));
    await expect.poll(() => readiness(service)).toBe(503);
    await sleep(4 * REQUEST_TIMEOUT_MS);
    const backends = await countBackends(one);
    const [read, written] = [await reads.end(), await writes.end()];
    report('stalled commits', { reads: read, writes: written, backends });
    expect(read.failures).toBe(0);
    expect(written.successes).toBe(0);
    expect(backends).toBeLessThanOrEqual(CONNECTIONS + OTHER_CONNECTIONS);

    await two.up();
    const startedAt = performance.now();
    await waitForWrite(service, tenant);
    await expect.poll(() => readiness(service), { interval: 20 }).toBe(200);
    report('after its return', { ms: Math.round(performance.now() - startedAt) });
  });

  test('after a failover writes go on without a restart, and everything acknowledged is there', async () => {
    const acknowledged: string[] = [];
    const gaps: number[] = [];
    let lastAt = performance.now();
    const load = startLoad(8, async () => {
      const eventId = await write(service, tenant);
      acknowledged.push(eventId);
      gaps.push(performance.now() - lastAt);
      lastAt = performance.now();
    });
    await expect.poll(() => acknowledged.length).toBeGreaterThan(50);
    await one.down('immediate');
    await two.promote();
    const promotedAt = performance.now();
    const before = acknowledged.length;
    await expect.poll(() => acknowledged.length, { interval: 10 }).toBeGreaterThan(before + 50);
    const { failures } = await load.end();
    report('failover', {
      acknowledged: acknowledged.length,
      failures,
      gapMs: Math.round(Math.max(...gaps)),
      afterPromotionMs: Math.round(performance.now() - promotedAt),
    });
    expect(await countMissing(two, acknowledged)).toBe(0);
    expect(await readiness(service)).toBe(200);
  });

  test('after the fail-back, with the old primary as standby in between, writes go on', async () => {
    await one.rejoin(two, 'twin');
    await setSettings(two, SYNCHRONOUS);
    await write(service, tenant);
    const load = startLoad(8, () => write(service, tenant));
    await two.down('fast');
    await one.promote();
    const promotedAt = performance.now();
    await waitForWrite(service, tenant);
    report('fail-back', { ms: Math.round(performance.now() - promotedAt), ...(await load.end()) });
    await two.rejoin(one, 'twin');
  });

  test('with standbys only it is not ready, a start waits, and both go on once there is a primary', async () => {
    const acknowledged = [await write(service, tenant)];
    await one.down('fast');
    await expect.poll(() => readiness(service)).toBe(503);
    const reasons: string[] = [];
    const url = `postgres://usher@${two.address},${one.address}/usher`;
    const migrated = migrateDatabase(url, { onWait: (reason) => reasons.push(reason) });
    await expect.poll(() => reasons).toEqual([`${two.address} is a standby, and there is no primary`]);
    await two.promote();
    await migrated;
    await expect.poll(() => readiness(service)).toBe(200);
    acknowledged.push(await write(service, tenant));
    expect(await countMissing(two, acknowledged)).toBe(0);
  });
});

/** Creates an event and returns its ID. */
async function write(service: TestService, tenant: Tenant): Promise<string> {
  const eventId = randomUUID();
  await clientsOf(service, tenant).events.createEvent({ eventId });
  return eventId;
}

async function waitForWrite(service: TestService, tenant: Tenant): Promise<void> {
  const tryWrite = () =>
    write(service, tenant).then(
      () => 'written',
      () => 'failed',
    );
  await expect.poll(tryWrite, { interval: 20 }).toBe('written');
}

/** Calls again and again from so many callers until it ends. */
function startLoad(callers: number, call: () => Promise<unknown>) {
  let isOver = false;
  const counts = { successes: 0, failures: 0 };
  const running = Array.from({ length: callers }, async () => {
    while (!isOver) {
      await call().then(
        () => counts.successes++,
        () => counts.failures++,
      );
      await sleep(10);
    }
  });
  return {
    async end() {
      isOver = true;
      await Promise.all(running);
      return counts;
    },
  };
}

async function readiness(service: TestService): Promise<number> {
  return (await request(service.url, { path: '/readyz' })).status;
}

async function countBackends(server: DebianPostgres): Promise<number> {
  return server.sql('usher', async (sql) => {
    const [row] = await sql`
      select count(*)::int as count from pg_stat_activity
      where application_name like 'usher %' and application_name <> 'usher search'`;
    return row?.count;
  });
}

async function countMissing(server: DebianPostgres, eventIds: readonly string[]): Promise<number> {
  return server.sql('usher', async (sql) => {
    const [row] =
      await sql`select count(*)::int as count from events where id = any(string_to_array(${eventIds.join()}, ','))`;
    return eventIds.length - row?.count;
  });
}

async function setSettings(server: DebianPostgres, settings: Record<string, string>): Promise<void> {
  await server.sql('postgres', async (sql) => {
    for (const [name, value] of Object.entries(settings)) await sql.unsafe(`alter system set ${name} = '${value}'`);
    await sql`select pg_reload_conf()`;
  });
}

function report(title: string, figures: Record<string, unknown>): void {
  process.stdout.write(`${title}: ${JSON.stringify(figures)}\n`);
}
