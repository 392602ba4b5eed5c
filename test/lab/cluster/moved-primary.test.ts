/** A standby becomes the primary while the old one still accepts connections. Needs the Postgres of Debian, or PG_BIN. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Code, ConnectError } from '@connectrpc/connect';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { migrateDatabase } from '../../../src/database/migrate/migrate.ts';
import { TcpProxy } from '../../../src/testing/tcp-proxy.ts';
import { openDatabase } from '../../support/database.ts';
import { DebianPostgres, SKIPS_DEBIAN_POSTGRES } from '../../support/debian-postgres.ts';
import { countMissing, startWrites, write } from '../../support/failover-load.ts';
import { startLoad } from '../../support/load.ts';
import { clientsOf, createTenant, startTestService, type Tenant, type TestService } from '../../support/service.ts';
import { report } from '../../support/soak.ts';

const PAUSE_MS = 4_000;
const CONFIG = { requestTimeoutMs: 5_000 };
const SYNCHRONOUS = { synchronous_standby_names: 'twin', synchronous_commit: 'on' };

describe.skipIf(SKIPS_DEBIAN_POSTGRES)('with an old primary that still accepts connections', () => {
  let stack: AsyncDisposableStack;
  let old: DebianPostgres;
  let next: DebianPostgres;
  /** Leads the second replica to the standby. */
  let link: TcpProxy;
  let one: TestService;
  let two: TestService;
  let tenant: Tenant;

  beforeEach(async () => {
    stack = new AsyncDisposableStack();
    old = stack.use(await DebianPostgres.start());
    await old.sql('postgres', (sql) => sql`create database usher`);
    next = stack.use(await old.startStandby('twin'));
    await old.sql('postgres', async (sql) => {
      for (const [name, value] of Object.entries(SYNCHRONOUS))
        await sql.unsafe(`alter system set ${name} = '${value}'`);
      await sql`select pg_reload_conf()`;
    });
    const url = `postgres://usher@${old.address},${next.address}/usher`;
    await migrateDatabase(url);
    one = stack.use(await startTestService({ database: stack.use(openDatabase(url)), config: CONFIG }));
    link = stack.use(await TcpProxy.open(next.urlOf('usher')));
    const { host } = new URL(link.through(next.urlOf('usher')));
    const database = stack.use(openDatabase(`postgres://usher@${old.address},${host}/usher`));
    two = stack.use(await startTestService({ database, like: one.config, config: CONFIG }));
    tenant = await createTenant(one);
  });
  afterEach(() => stack.disposeAsync());

  test.for([
    {
      fault: 'a promotion',
      async move() {
        await next.promote();
      },
    },
    {
      fault: 'a promotion during a pause',
      async move() {
        await old.pause();
        await next.promote();
        sleep(PAUSE_MS).then(() => old.resume());
      },
    },
    {
      fault: 'a promotion that a replica cannot see',
      async move() {
        await link.setMode('freeze');
        await next.promote();
      },
    },
  ])('after $fault writes go on, and no replica misses an event of another', async ({ fault, move }, context) => {
    const writes = startWrites(one, tenant);
    const answers = { read: 0, unavailable: 0, missing: 0 };
    /** Creates an event at one replica, and reads it at the other once that is acknowledged. */
    const passOn = async (from: TestService, to: TestService) => {
      const eventId = randomUUID();
      await clientsOf(from, tenant).events.createEvent({ eventId });
      try {
        await clientsOf(to, tenant).events.getEvent({ eventId });
        answers.read++;
      } catch (error) {
        const isMissing = error instanceof ConnectError && error.code === Code.NotFound;
        answers[isMissing ? 'missing' : 'unavailable']++;
      }
      return 'ok';
    };
    const calls = [() => passOn(one, two), () => passOn(two, one)];
    const passed = calls.map((call) => startLoad({ call }, { callers: 4 }));
    await writes.waitForMore(50);
    await move();
    const movedAt = performance.now();
    await writes.waitForMore(1);
    const seconds = ((performance.now() - movedAt) / 1_000).toFixed(2);
    await sleep(PAUSE_MS);
    await writes.waitForMore(50);
    await Promise.all(passed.map((load) => load.stop()));
    report(context, {
      tried: `${fault}, ${answers.read} events read at another replica`,
      lost: `${answers.missing} not found`,
      figures: `written ${seconds} s after the promotion, ${answers.unavailable} reads unavailable`,
    });
    await writes.finish(context, fault, (count) => next.sql('usher', count));
    // A process that has seen nothing of this takes the same primary.
    await using three = await startTestService({ database: openDatabase(one.database.url), like: one.config });
    const written = await write(three, tenant);
    expect(await next.sql('usher', (sql) => countMissing(sql, [written]))).toBe(0);
    expect(answers.read).toBeGreaterThan(0);
    expect(answers.missing).toBe(0);
  });
});
