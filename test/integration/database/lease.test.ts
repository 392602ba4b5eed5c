/** Commits that wait for a standby: an old primary may be asked, beside which another has been promoted. */
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Database, type DatabaseOptions, type Statement } from '../../../src/database/pool/database.ts';
import { LEASE_MS } from '../../../src/database/primary/primary-finder.ts';
import { events } from '../../../src/database/schema/event-schema.ts';
import { onServer } from '../../../src/testing/on-server.ts';
import { TcpProxy } from '../../../src/testing/tcp-proxy.ts';
import { blockProcess } from '../../support/block-process.ts';
import { cloneDatabase, openDatabase } from '../../support/database.ts';
import { request } from '../../support/http.ts';
import { OwnPostgres } from '../../support/own-postgres.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createTenant,
  createTestEvent,
  createTestUser,
  startTestService,
  type Tenant,
  type TestService,
} from '../../support/service.ts';

const REQUEST_TIMEOUT_MS = 5_000;

describe('while commits wait for a standby', () => {
  const stack = new AsyncDisposableStack();
  let postgres: OwnPostgres;
  let single: TestService;
  let several: TestService;
  let tenant: Tenant;
  let unusedApiKey: string;
  let sessionId: string;
  let eventId: string;

  beforeAll(async () => {
    postgres = stack.use(await OwnPostgres.start());
    single = stack.use(await startTestService({ database: stack.use(openDatabase(postgres.url)) }));
    const proxies = [stack.use(await TcpProxy.open(postgres.url)), stack.use(await TcpProxy.open(postgres.url))];
    const [url = '', other = ''] = proxies.map((proxy) => proxy.through(postgres.url));
    const both = url.replace(new URL(url).host, `${new URL(url).host},${new URL(other).host}`);
    const config = { requestTimeoutMs: REQUEST_TIMEOUT_MS };
    several = stack.use(
      await startTestService({ database: stack.use(openDatabase(both)), like: single.config, config }),
    );
    tenant = await createTenant(several);
    ({ apiKey: unusedApiKey } = await adminClient(single).createApiKey({ applicationId: tenant.id }));
    sessionId = await beginSession(several, tenant, await createTestUser(several));
    eventId = await createTestEvent(several, tenant);
  });
  afterAll(async () => {
    await setStandby('');
    await stack.disposeAsync();
  });

  const setStandby = (name: string) =>
    onServer(postgres.url, async (sql) => {
      await sql.unsafe(`alter system set synchronous_standby_names = '${name}'`);
      await sql`select pg_reload_conf()`;
      // Postgres takes the setting a moment later. A replica commits all the time.
      const waiting = () => sql`select from pg_stat_activity where wait_event = 'SyncRep'`;
      if (name) await expect.poll(async () => (await waiting()).length, { interval: 5 }).toBeGreaterThan(0);
    });

  /** Definite answers, besides those that wait for a commit. */
  const callsOf = (service: TestService): Record<string, () => Promise<unknown>> => {
    const { events, sessions } = clientsOf(service, tenant);
    const admin = adminClient(service);
    return {
      'CheckSession of a live session': () => sessions.checkSession({ sessionId, maxStalenessMs: 0 }),
      'CheckSession of an unknown one': () => sessions.checkSession({ sessionId: randomUUID(), maxStalenessMs: 0 }),
      'RevokeSession of an unknown one': () => sessions.revokeSession({ sessionId: randomUUID() }),
      'RenewSession of one that is not due': () => sessions.renewSession({ sessionId }),
      GetEvent: () => events.getEvent({ eventId }),
      'GetEvent of an unknown one': () => events.getEvent({ eventId: 'unknown' }),
      'CreateEvent with a known ID': () => events.createEvent({ eventId }),
      'RevokeApiKey of an unknown one': () => admin.revokeApiKey({ apiKeyId: randomUUID() }),
      'DeactivateUser of an unknown one': () => admin.deactivateUser({ userId: randomUUID() }),
      'a call with a key that it has not seen': () =>
        clientsOf(service, { apiKey: unusedApiKey }).events.getEvent({ eventId }),
    };
  };

  test('a revocation that finds nothing does not say so, though commits have waited for a moment only', async () => {
    await setStandby('nobody');
    const { revokeApiKey, deactivateUser } = adminClient(several);
    const { revokeUserSessions } = clientsOf(several, tenant).sessions;
    const revocations = [
      revokeApiKey({ apiKeyId: randomUUID() }),
      deactivateUser({ userId: randomUUID() }),
      revokeUserSessions({ userId: randomUUID() }),
    ];
    const outcomes = await Promise.allSettled(revocations);
    for (const { reason } of outcomes as PromiseRejectedResult[])
      expect(reason?.message).toContain('Service unavailable');
  });

  test('a replica whose URL names several servers is not ready, though nobody writes', async () => {
    await expect.poll(() => readiness(several), { interval: 20 }).toBe(503);
  });

  test('it answers nothing that an old primary may have wrong', async () => {
    for (const [name, call] of Object.entries(callsOf(several)))
      await expect(call(), name).rejects.toThrow('Service unavailable');
  });

  test('a replica whose URL names one server still reads', async () => {
    const { events, sessions } = clientsOf(single, tenant);
    expect(await events.getEvent({ eventId })).toMatchObject({ event: { eventId } });
    expect(await sessions.checkSession({ sessionId, maxStalenessMs: 0 })).toMatchObject({ active: true });
  });

  test('both serve again once commits go through', async () => {
    await setStandby('');
    await expect.poll(() => readiness(several), { interval: 20 }).toBe(200);
    const { events, sessions } = clientsOf(several, tenant);
    expect(await events.getEvent({ eventId })).toMatchObject({ event: { eventId } });
    expect(await sessions.checkSession({ sessionId, maxStalenessMs: 0 })).toMatchObject({ active: true });
  });
});

/** Opens a database whose URL names two servers, so that it has a lease. */
function openReplica(url: string, options: Pick<DatabaseOptions, 'onNoLeases'> = {}): Database {
  const { host } = new URL(url);
  return new Database(url.replace(host, `${host},${host}`), { connections: 1, statementTimeoutMs: 60_000, ...options });
}

test('a primary that a process has just found gets no statement before leases on an old one have ended', async () => {
  await using database = await cloneDatabase();
  await using proxy = await TcpProxy.open(database.url);
  const replica = openReplica(proxy.through(database.url));
  const startedAt = performance.now();
  await replica.run(selectOne, {}, performance.now() + 60_000);
  expect(performance.now() - startedAt).toBeGreaterThan(LEASE_MS);
  await replica.close();
});

test('a process that was busy does not take that for commits that wait', async () => {
  await using database = await cloneDatabase();
  await using proxy = await TcpProxy.open(database.url);
  const replica = openReplica(proxy.through(database.url));
  await replica.run(selectOne, {}, performance.now() + 60_000);
  await proxy.setMode('delay');
  // Finds nothing, so it waits for a commit.
  const answer = replica.run(deleteNothing, {}, performance.now() + 60_000);
  const isOver = answer.then(() => true);
  while (!(await Promise.race([isOver, sleep(20, false)]))) blockProcess(LEASE_MS);
  expect(await answer).toEqual([]);
  await replica.close();
});

test('a role that may not commit nothing gets answers without a lease, and the operator is told once', async () => {
  await using database = await cloneDatabase();
  const role = `no_leases_${randomBytes(6).toString('hex')}`;
  await database.sql.unsafe(`
    do $$ begin
      execute format('revoke execute on function %s from public', (
        select string_agg(oid::regprocedure::text, ', ') from pg_proc where proname = 'pg_logical_emit_message'));
    end $$;
    create role ${role} login password 'secret'`);
  await using stack = new AsyncDisposableStack();
  stack.defer(async () => void (await database.sql.unsafe(`drop role ${role}`)));
  const url = new URL(database.url);
  [url.username, url.password] = [role, 'secret'];
  const told: unknown[] = [];
  const replica = openReplica(url.href, { onNoLeases: (reason) => told.push(reason) });
  expect(await replica.run(selectOne, {}, performance.now() + 60_000)).toEqual([{ one: 1 }]);
  await sleep(LEASE_MS);
  expect(await replica.run(selectOne, {}, performance.now() + 60_000)).toEqual([{ one: 1 }]);
  expect(told).toEqual([expect.objectContaining({ code: '42501' })]);
  await replica.close();
});

const deleteNothing: Statement<unknown[]> = (db) =>
  db.delete(events).where(sql`false`).returning({ id: events.id }).prepare('delete_nothing');

const selectOne: Statement<{ one: number }[]> = (db) =>
  db.select({ one: sql<number>`1` }).from(sql`(select) as nothing`).prepare('select_one');

async function readiness({ url }: TestService): Promise<number> {
  return (await request(url, { path: '/readyz' })).status;
}
