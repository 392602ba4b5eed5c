/** Usher on a primary with a synchronous standby. Needs the Postgres of Debian, or PG_BIN. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migrateDatabase } from '../../../src/database/migrate/migrate.ts';
import { WebhookReceiver } from '../../../src/testing/webhook-receiver.ts';
import { openDatabase } from '../../support/database.ts';
import { DebianPostgres, SKIPS_DEBIAN_POSTGRES } from '../../support/debian-postgres.ts';
import { countMissing, failuresOf, startWrites, waitForWrite, write } from '../../support/failover-load.ts';
import { request } from '../../support/http.ts';
import { watchLeases } from '../../support/lease-log.ts';
import { quantileOf, startLoad } from '../../support/load.ts';
import { startUsher } from '../../support/process.ts';
import {
  clientsOf,
  createTenant,
  createTestWebhook,
  startTestService,
  type Tenant,
  type TestService,
} from '../../support/service.ts';
import { report } from '../../support/soak.ts';
import { AllowedRepeats, createSubscribers, judgeWhenTold, makeChanges } from '../../support/told-changes.ts';

const REQUEST_TIMEOUT_MS = 2_000;
const STALL_MS = 20_000;
const CONNECTIONS = 4;
const CONFIG = { requestTimeoutMs: REQUEST_TIMEOUT_MS, databaseConnections: CONNECTIONS };
/** Reads, the control connection, and statements that wait for locks. */
const OTHER_CONNECTIONS = 2 + 1 + 8;
/** Where the URL names several servers. */
const LEASE_CONNECTIONS = 1;
/** Changes before, and again after the failover. */
const CHANGES = 200;
/** So many deliveries are under way when the primary fails. */
const ANSWER_MS = 50;
const SYNCHRONOUS = { synchronous_standby_names: 'twin', synchronous_commit: 'on' };

describe.skipIf(SKIPS_DEBIAN_POSTGRES)('with a synchronous standby', () => {
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
    const database = stack.use(openDatabase(url));
    service = stack.use(await startTestService({ database, config: CONFIG }));
    tenant = await createTenant(service);
    ({ webhookId } = await createTestWebhook(service, tenant));
  });
  afterAll(() => stack.disposeAsync());

  test('while its commits wait, it is not ready, writes end at their deadline, and connections are bounded', async (context) => {
    const { webhooks } = clientsOf(service, tenant);
    const database = openDatabase(one.urlOf('usher'));
    await using alone = await startTestService({ database, like: service.config, config: CONFIG });
    const startReads = ({ url }: TestService) =>
      startLoad(
        {
          read: () =>
            clientsOf({ url }, tenant)
              .webhooks.getWebhook({ webhookId })
              .then(() => 'ok'),
        },
        { callers: 4, pauseMs: 50 },
      );
    const before = startReads(alone);
    await sleep(STALL_MS / 4);
    const readsBefore = await before.stop();

    await two.down('immediate');
    // Nobody writes yet.
    await expect.poll(() => readiness(service), { interval: 20 }).toBe(503);
    // A standby may have been promoted that only others reach.
    await expect(webhooks.getWebhook({ webhookId })).rejects.toThrow('Service unavailable');
    const startWriting = (to: TestService) =>
      startLoad({ write: () => write(to, tenant).then(() => 'ok') }, { callers: 20, pauseMs: 100 });
    const writes = [startWriting(service), startWriting(alone)];
    const reads = startReads(alone);
    await sleep(STALL_MS);
    const backends = await countBackends(one);
    const readsMeanwhile = await reads.stop();
    const written = (await Promise.all(writes.map((load) => load.stop()))).flat();

    const backAt = performance.now();
    await two.up();
    await waitForWrite(service, tenant);
    await expect.poll(() => readiness(service), { interval: 20 }).toBe(200);
    const returnSeconds = ((performance.now() - backAt) / 1_000).toFixed(2);
    const [p99Before, p99] = [readsBefore, readsMeanwhile].map((answers) => quantileOf(answers, 0.99).toFixed());
    report(context, {
      tried: `commits stalled for ${STALL_MS / 1_000} s, ${readsMeanwhile.length} reads with one server in the URL, ${written.length} writes`,
      lost: `${failuresOf(readsMeanwhile).length} reads`,
      figures: `p99 of reads ${p99} ms, ${p99Before} ms before; ${backends} backends; writes ${returnSeconds} s after the standby was started`,
    });
    // One that waited for a commit would be late.
    expect(failuresOf(readsMeanwhile)).toEqual([]);
    expect(failuresOf(written)).toHaveLength(written.length);
    expect(backends).toBeLessThanOrEqual(2 * (CONNECTIONS + OTHER_CONNECTIONS) + LEASE_CONNECTIONS);
  });

  test('after a failover writes go on without a restart, and everything acknowledged is there', async (context) => {
    const writes = startWrites(service, tenant);
    await writes.waitForMore(50);
    await one.down('immediate');
    await two.promote();
    await writes.waitForMore(50);
    await writes.finish(context, 'failover', (count) => two.sql('usher', count));
    expect(await readiness(service)).toBe(200);
  });

  test('after the fail-back, with the old primary as standby in between, writes go on', async (context) => {
    await one.rejoin(two, 'twin');
    await setSettings(two, SYNCHRONOUS);
    await waitForWrite(service, tenant);
    const writes = startWrites(service, tenant);
    await writes.waitForMore(50);
    await two.down('fast');
    await one.promote();
    await writes.waitForMore(50);
    await writes.finish(context, 'fail-back', (count) => one.sql('usher', count));
    await two.rejoin(one, 'twin');
  });

  test('with standbys only it is not ready, a start waits, and both go on once there is a primary', async () => {
    // Otherwise a standby that does not follow yet may miss what is acknowledged.
    await setSettings(one, SYNCHRONOUS);
    await waitForWrite(service, tenant);
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
    expect(await two.sql('usher', (sql) => countMissing(sql, acknowledged))).toBe(0);
  });

  test('a failover loses no message of an acknowledged change, and tells of no other', {
    timeout: 300_000,
  }, async (context) => {
    await one.rejoin(two, 'twin');
    await setSettings(two, SYNCHRONOUS);
    await two.sql('postgres', (sql) => sql`create database deliveries`);
    await using receiver = await WebhookReceiver.open();
    receiver.respond = (_, response) => void sleep(ANSWER_MS).then(() => response.writeHead(204).end());
    await using usher = await startUsher(`postgres://usher@${two.address},${one.address}/deliveries`, {
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      REQUEST_TIMEOUT_MS: '5000',
      WEBHOOK_TIMEOUT_MS: '5000',
    });
    await two.sql('deliveries', watchLeases);
    const acknowledged = new Set<string>();
    const change = makeChanges(await createSubscribers(usher, receiver, 8), () => usher.url, acknowledged);
    const load = startLoad({ change }, { callers: 8, pauseMs: 5 });
    const waitForChanges = (count: number) =>
      expect.poll(() => acknowledged.size, { interval: 10 }).toBeGreaterThanOrEqual(count);

    await waitForChanges(CHANGES);
    const allowed = new AllowedRepeats();
    await two.sql('deliveries', (sql) => allowed.beginFault(sql));
    await two.down('immediate');
    await one.promote();
    await one.sql('deliveries', (sql) => allowed.endFault(sql));
    await waitForChanges(acknowledged.size + CHANGES);
    await load.stop();
    const verdict = await one.sql('deliveries', (sql) => judgeWhenTold(sql, receiver, { acknowledged, allowed }));
    report(context, {
      tried: `deliveries during a failover, ${acknowledged.size} changes`,
      lost: verdict.summary,
      figures: verdict.figures,
    });
    expect(verdict).toMatchObject({ lost: [], untrue: [], twice: [], repeated: [], givenUp: 0 });
  });
});

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

async function setSettings(server: DebianPostgres, settings: Record<string, string>): Promise<void> {
  await server.sql('postgres', async (sql) => {
    for (const [name, value] of Object.entries(settings)) await sql.unsafe(`alter system set ${name} = '${value}'`);
    await sql`select pg_reload_conf()`;
  });
}
