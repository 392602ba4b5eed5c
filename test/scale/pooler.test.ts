/** Usher behind pgbouncer, which needs PGBOUNCER or /usr/local/bin/pgbouncer, 1.21 or later. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migrateDatabase } from '../../src/database/migrate.ts';
import { DebianPostgres, SKIPS_DEBIAN_POSTGRES } from '../support/debian-postgres.ts';
import { hasPgbouncer, Pgbouncer } from '../support/pgbouncer.ts';
import { clientsOf, createTenant, createTestEvent, startTestService, type TestService } from '../support/service.ts';
import { report } from '../support/soak.ts';

const INSTANCES = 3;
const isInstalled = !SKIPS_DEBIAN_POSTGRES && hasPgbouncer;

describe.runIf(isInstalled).each(['transaction', 'session'])('behind pgbouncer in %s mode', (poolMode) => {
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
    const database = { url: pooler.urlOf('usher') };
    await Promise.all(Array.from({ length: INSTANCES }, () => migrateDatabase(database.url)));
    const [first, ...others] = await startServices(database, INSTANCES);
    if (!first) throw new Error('No service');
    services = [first, ...others];
    for (const service of services) stack.use(service);
  });
  afterAll(() => stack.disposeAsync());

  test('three instances serve reads and writes', async () => {
    expect(await checkInEverywhere(services)).toEqual({ failures: 0, replies: 60 });
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

  test.each(['reload', 'reconnect'])('survives %s without a failure', async (command) => {
    const load = checkInEverywhere(services);
    await pooler.admin(command);
    expect(await load).toMatchObject({ failures: 0 });
  });

  test('a pause of the pooler fails no call', async (context) => {
    const paused = pooler.admin('pause').catch(() => {});
    if (poolMode === 'transaction') await paused;
    // It waits for the end of every session, also after a resume, and those of Usher do not end: calls go on.
    else await sleep(500);
    const load = checkInEverywhere(services);
    await sleep(500);
    if (poolMode === 'session') await load;
    await pooler.admin('resume');
    const { failures, replies } = await load;
    report(context, { tried: `PAUSE in ${poolMode} mode, ${replies} calls`, lost: `${failures} calls` });
    expect(failures).toBe(0);
  });

  test('serves again when a database of the pooler that was shut off is resumed', async () => {
    await pooler.admin('kill usher');
    await pooler.admin('resume usher');
    await expect.poll(() => checkInEverywhere(services)).toMatchObject({ failures: 0 });
  });

  test('serves again after the pooler was killed', async () => {
    await pooler.kill();
    await pooler.up();
    await expect.poll(() => checkInEverywhere(services)).toMatchObject({ failures: 0 });
  });
});

describe.runIf(isInstalled)('a pooler without prepared statements', () => {
  test('stops the start with one line that says what is needed', async () => {
    await using server = await DebianPostgres.start();
    await server.sql('postgres', (sql) => sql`create database usher`);
    await using pooler = await Pgbouncer.start(server, { pool_mode: 'transaction', max_prepared_statements: 0 });
    await expect(migrateDatabase(pooler.urlOf('usher'))).rejects.toThrow(
      'cannot be used: the pooler loses prepared statements. Usher needs pgbouncer 1.21 or later with max_prepared_statements',
    );
  });
});

async function startServices(database: { url: string }, count: number): Promise<TestService[]> {
  const shared = { url: database.url, sql: undefined as never, [Symbol.asyncDispose]: async () => {} };
  const first = await startTestService({ database: shared });
  const others = await Promise.all(
    Array.from({ length: count - 1 }, () => startTestService({ database: shared, like: first.config })),
  );
  return [first, ...others];
}

/** Checks attendees in to one event through every service, and reads it. */
async function checkInEverywhere(services: readonly TestService[]) {
  const [first] = services;
  if (!first) throw new Error('No service');
  const setup = async () => {
    const tenant = await createTenant(first);
    return { tenant, eventId: await createTestEvent(first, tenant) };
  };
  const made = await setup().catch(() => undefined);
  if (!made) return { failures: 1, replies: 0 };
  const { tenant, eventId } = made;
  const calls = services.flatMap((service) =>
    Array.from({ length: 20 }, (_, attendee) =>
      clientsOf(service, tenant).events.checkIn({ eventId, attendeeId: String(attendee) }),
    ),
  );
  const replies = await Promise.allSettled(calls);
  return { failures: replies.filter(({ status }) => status === 'rejected').length, replies: replies.length };
}

async function readSettings(url: string): Promise<string> {
  const { openClient } = await import('../../src/database/open-client.ts');
  const sql = openClient(url, { max: 1, fetch_types: false, prepare: false });
  try {
    const [row] = await sql`
      select concat_ws('/', current_setting('statement_timeout'), current_setting('lock_timeout'),
        current_setting('search_path')) as settings, pg_sleep(0.1)`;
    return row?.settings;
  } finally {
    await sql.end();
  }
}
