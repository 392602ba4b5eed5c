/** Usher behind pgbouncer, which needs PGBOUNCER or /usr/local/bin/pgbouncer, 1.21 or later. */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createUsherClient } from '../../../src/client/usher-client.ts';
import { migrateDatabase } from '../../../src/database/migrate/migrate.ts';
import { Database, type Statement } from '../../../src/database/pool/database.ts';
import { onServer } from '../../../src/testing/on-server.ts';
import { openDatabase } from '../../support/database.ts';
import { DebianPostgres } from '../../support/debian-postgres.ts';
import { FakeProvider } from '../../support/fake-provider.ts';
import { LoginFixture } from '../../support/login-fixture.ts';
import { migrateWith } from '../../support/migrations.ts';
import { Pgbouncer, SKIPS_PGBOUNCER } from '../../support/pgbouncer.ts';
import {
  adminClient,
  clientsOf,
  createTenant,
  createTestEvent,
  createTestUser,
  startTestService,
  type TestService,
  testConfig,
} from '../../support/service.ts';
import { report } from '../../support/soak.ts';

const INSTANCES = 3;
describe.skipIf(SKIPS_PGBOUNCER).each(['transaction', 'session'])('behind pgbouncer in %s mode', (poolMode) => {
  const stack = new AsyncDisposableStack();
  let server: DebianPostgres;
  let pooler: Pgbouncer;
  let services: TestService[];

  beforeAll(async () => {
    server = stack.use(await DebianPostgres.start());
    await server.sql('postgres', (sql) => sql`create database usher`);
    pooler = stack.use(
      await Pgbouncer.start(server, { pool_mode: poolMode, max_prepared_statements: 200, default_pool_size: 60 }),
    );
    const database = stack.use(openDatabase(pooler.urlOf('usher')));
    await Promise.all(Array.from({ length: INSTANCES }, () => migrateDatabase(database.url)));
    const like = testConfig(database.url);
    const started = Array.from({ length: INSTANCES }, async () =>
      stack.use(await startTestService({ database, like })),
    );
    services = await Promise.all(started);
  });
  afterAll(() => stack.disposeAsync());

  test('three instances serve reads and writes', async () => {
    expect(await checkInEverywhere(services)).toEqual({ failures: 0, replies: 60 });
  });

  test('a reader of messages at one instance gets what others change, in the order of the feed', async () => {
    const [first, second] = services;
    if (!first || !second) throw new Error('No services');
    // Others fan nothing out.
    const config = { webhookDelivery: true };
    await using third = await startTestService({ database: first.database, like: first.config, config });
    const tenant = await createTenant(first, { messageFeed: true });
    const { messages } = createUsherClient({ baseUrl: second.url, apiKey: tenant.apiKey });
    const changes = ['first', 'second', 'third'].map((eventId, at) =>
      clientsOf([first, second, third][at] ?? first, tenant).events.createEvent({ eventId }),
    );
    await Promise.all(changes);
    const read: string[] = [];
    for await (const found of messages.watch({ cursor: 'oldest' })) {
      for (const { messageId } of found.messages) read.push(messageId);
      if (read.length === changes.length) break;
    }
    const places = await server.sql(
      'usher',
      (sql) => sql`
      select 'msg_' || message_id as id from usher.feed_positions where application_id = ${tenant.id} order by position`,
    );
    expect(read).toEqual(places.map(({ id }) => id));
  });

  test('an account at a provider is linked through one instance, and signs in through another', async () => {
    await using acme = await FakeProvider.start();
    const [like] = services;
    if (!like) throw new Error('No service');
    const config = { loginProviders: [acme.settings()], loginProviderIds: undefined };
    await using fixture = await LoginFixture.open({ database: like.database, like: like.config, config });
    await using replica = await fixture.startReplica(config);
    const user = await createTestUser(fixture.service);
    const leave = async (at: TestService) => {
      const { browser, page } = await fixture.arrive({ at });
      const { location } = await browser.submit(page, '/login/provider');
      return { browser, callback: acme.signIn(location, { sub: user.id, email: user.email }) };
    };
    const first = await leave(fixture.service);
    const codePage = await first.browser.submit(await first.browser.open(first.callback), '/login/link');
    const code = fixture.mailbox.codeFor(user.email);
    expect((await first.browser.submit(codePage, '/login/code', { code })).status).toBe(303);
    const second = await leave(replica);
    expect((await second.browser.open(second.callback)).location).toContain('authToken=');
    const { identities } = await adminClient(replica).listUserIdentities({ userId: user.id });
    expect(identities.map(({ subject }) => subject)).toEqual([user.id]);
  });

  test('neither a lock nor a setting stays on a pooled connection', async (context) => {
    const leftovers = () =>
      server.sql('usher', async (sql) => ({
        locks: await sql`select pid from pg_locks where locktype = 'advisory'`,
        idle: await sql`select query from pg_stat_activity where state like 'idle in transaction%'`,
      }));
    // Jobs may be about to commit.
    await expect.poll(leftovers).toEqual({ locks: [], idle: [] });
    report(context, { tried: `${INSTANCES} instances at once in ${poolMode} mode`, lost: '0 locks, 0 transactions' });
    // Every server connection of the pool shows its own settings to the next client.
    const settings = await Promise.all(Array.from({ length: 20 }, () => readSettings(pooler.urlOf('usher'))));
    expect(new Set(settings)).toEqual(new Set(['0/0/"$user", public']));
  });

  test('a statement that failed after its first rows leaves none to the next', async () => {
    const database = new Database(pooler.urlOf('usher'), { connections: 1, statementTimeoutMs: 60_000 });
    const run = (statement: Statement<unknown[]>) => database.run(statement, {}, performance.now() + 60_000);
    try {
      for (let round = 0; round < 5; round++) {
        const failed = Promise.allSettled([run(divide), run(divide)]);
        expect(await Promise.all([run(selectNumbers), run(selectNumbers)])).toEqual([NUMBERS, NUMBERS]);
        expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
        expect(await Promise.all([run(selectNumbers), run(selectNumbers)])).toEqual([NUMBERS, NUMBERS]);
      }
    } finally {
      await database.close();
    }
  });

  test('an index on a table that exists is created', async () => {
    const index = `CREATE INDEX CONCURRENTLY "events_name_idx" ON "events" ("name");`;
    await Promise.all([1, 2].map(() => migrateWith(pooler.urlOf('usher'), { later: [index] })));
    const found = await server.sql(
      'usher',
      (sql) => sql`
      select indisvalid as "isValid" from pg_index where indexrelid = 'usher.events_name_idx'::regclass`,
    );
    expect([...found]).toEqual([{ isValid: true }]);
  });

  test('a reload of the pooler fails no call', async () => {
    const load = checkInEverywhere(services);
    await pooler.admin('reload');
    expect(await load).toMatchObject({ failures: 0 });
  });

  test('a pause of the pooler fails no call', async (context) => {
    const paused = pooler.admin('pause').catch(() => {});
    if (poolMode === 'transaction') await paused;
    else {
      // It waits for the end of every session, also after a resume, and those of Usher do not end: calls go on.
      await sleep(500);
      await Promise.all(services.map((service) => createTenant(service)));
    }
    // One that waits for a lock, or is slow, may need one more connection, which there is after the resume.
    const load = checkInEverywhere(services);
    await sleep(500);
    await pooler.admin('resume');
    const { failures, replies } = await load;
    report(context, { tried: `PAUSE in ${poolMode} mode, ${replies} calls`, lost: `${failures} calls` });
    expect(failures).toBe(0);
  });

  test.each<[string, () => Promise<unknown>]>([
    // When it comes while pgbouncer logs in to Postgres, pgbouncer refuses statements for a while.
    ['RECONNECT under load', () => Promise.allSettled([checkInEverywhere(services), pooler.admin('reconnect')])],
    [
      'a database of the pooler was shut off',
      () => pooler.admin('kill usher').then(() => pooler.admin('resume usher')),
    ],
    ['the pooler was killed', () => pooler.kill().then(() => pooler.up())],
  ])('serves again after %s', async (_, interrupt) => {
    await interrupt();
    const failures = () =>
      checkInEverywhere(services).then(
        ({ failures }) => failures,
        () => 'not even the event',
      );
    await expect.poll(failures).toBe(0);
  });
});

describe.skipIf(SKIPS_PGBOUNCER)('a pooler without prepared statements', () => {
  test('stops the start with one line that says what is needed', async () => {
    await using server = await DebianPostgres.start();
    await server.sql('postgres', (sql) => sql`create database usher`);
    await using pooler = await Pgbouncer.start(server, { pool_mode: 'transaction', max_prepared_statements: 0 });
    await expect(migrateDatabase(pooler.urlOf('usher'))).rejects.toThrow(
      'cannot be used: the pooler loses prepared statements. Usher needs pgbouncer 1.21 or later with max_prepared_statements',
    );
  });
});

const NUMBERS = [1, 2, 3].map((number) => ({ number }));

const divide: Statement<unknown[]> = (db) =>
  db.select({ quotient: sql`1 / (50 - i)` }).from(sql`generate_series(1, 100) i`).prepare('divide');

const selectNumbers: Statement<unknown[]> = (db) =>
  db.select({ number: sql`number` }).from(sql`generate_series(1, 3) number`).prepare('select_numbers');

/** Checks attendees in to one event through every service, and reads it. */
async function checkInEverywhere(services: readonly TestService[]) {
  const [first] = services;
  if (!first) throw new Error('No service');
  const tenant = await createTenant(first);
  const eventId = await createTestEvent(first, tenant);
  const calls = services.flatMap((service) =>
    Array.from({ length: 20 }, (_, attendee) =>
      clientsOf(service, tenant).events.checkIn({ eventId, attendeeId: String(attendee) }),
    ),
  );
  const replies = await Promise.allSettled(calls);
  return { failures: replies.filter(({ status }) => status === 'rejected').length, replies: replies.length };
}

function readSettings(url: string): Promise<string> {
  return onServer(url, async (sql) => {
    const [row] = await sql`
      select concat_ws('/', current_setting('statement_timeout'), current_setting('lock_timeout'),
        current_setting('search_path')) as settings, pg_sleep(0.1)`;
    return row?.settings;
  });
}
