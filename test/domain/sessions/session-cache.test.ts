/** How fresh a session check is, and what it costs. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { Database, DatabaseUnavailableError, type Run } from '../../../src/database/pool/database.ts';
import { LiveSessions } from '../../../src/domain/sessions/live-sessions.ts';
import { MINUTE, stopTimer, TestClock } from '../../support/clock.ts';
import { countStatements } from '../../support/count-statements.ts';
import { LAYOUT } from '../../support/database.ts';
import { holdLock } from '../../support/lock.ts';
import { beginSession, clientsOf, createTenant, createTestUser, startTestService } from '../../support/service.ts';

const service = await startTestService();
const database = new Database(service.database.url, { connections: 2, layout: LAYOUT, statementTimeoutMs: 60_000 });
const tenant = await createTenant(service);
const other = await createTenant(service);
const { sessions } = clientsOf(service, tenant);

afterAll(async () => {
  await database.close();
  await service.close();
});

async function begin() {
  const user = await createTestUser(service);
  return { userId: user.id, sessionId: await beginSession(service, tenant, user) };
}

/** Returns the cache of another process, that counts its statements. */
function openCache() {
  const { run, count } = countStatements(database);
  const live = new LiveSessions(run);
  const find = (sessionId: string, maxStalenessMs: number, application = tenant) =>
    live.find(application.id, sessionId, maxStalenessMs).then((session) => session?.userId);
  return { live, find, count };
}

describe('a session check', () => {
  test('costs one statement however many callers make it, and reads nothing again within the bound', async () => {
    const { find, count } = openCache();
    const { sessionId, userId } = await begin();
    using _clock = stopTimer();
    const callers = await Promise.all(Array.from({ length: 200 }, () => find(sessionId, 5_000)));
    expect(new Set(callers)).toEqual(new Set([userId]));
    for (let call = 0; call < 100; call++) expect(await find(sessionId, 5_000)).toBe(userId);
    expect(count()).toBe(1);
  });

  test('reads cold sessions of an application in batches', async () => {
    const { find, count } = openCache();
    const begun = await Promise.all(Array.from({ length: 40 }, begin));
    const found = await Promise.all(begun.map(({ sessionId }) => find(sessionId, 5_000)));
    expect(found).toEqual(begun.map(({ userId }) => userId));
    // One, and one more for each 5 ms that a busy machine takes to begin them all.
    expect(count()).toBeLessThan(begun.length / 2);
  });

  test('with a bound of 0 reads now', async () => {
    const { find, count } = openCache();
    const { sessionId, userId } = await begin();
    for (let call = 0; call < 5; call++) expect(await find(sessionId, 0)).toBe(userId);
    expect(count()).toBe(5);
    await find(sessionId, 5_000);
    await sessions.revokeSession({ sessionId });
    expect(await find(sessionId, 0)).toBeUndefined();
    expect(await find(sessionId, 5_000)).toBeUndefined();
  });

  test('with a bound of 0 does not share a read that began before it', async () => {
    const { sessionId } = await begin();
    const { run } = countStatements(database);
    const gate = Promise.withResolvers<void>();
    let isFirst = true;
    // The answer to the first read is on its way while the session is revoked.
    const delayed: Run = async (statement, parameters) => {
      const rows = await run(statement, parameters);
      if (isFirst) await gate.promise;
      return rows;
    };
    const live = new LiveSessions(delayed);
    const early = live.find(tenant.id, sessionId, 5_000);
    await sleep(50);
    isFirst = false;
    await sessions.revokeSession({ sessionId });
    expect(await live.find(tenant.id, sessionId, 0)).toBeUndefined();
    gate.resolve();
    await early;
    expect(await live.find(tenant.id, sessionId, 5_000)).toBeUndefined();
  });

  test('is refreshed in the background, so that a revocation is seen within the bound', async () => {
    const { find, count } = openCache();
    const { sessionId, userId } = await begin();
    const begunAt = performance.now();
    expect(await find(sessionId, 400)).toBe(userId);
    await sessions.revokeSession({ sessionId });
    const revokedAt = performance.now();
    let lastActive = revokedAt;
    for (let calledAt = revokedAt; calledAt < revokedAt + 1_000; calledAt = performance.now()) {
      if (await find(sessionId, 400)) lastActive = calledAt;
      await sleep(5);
    }
    expect(lastActive - revokedAt).toBeLessThanOrEqual(400);
    // One read for each half of the bound, and the first.
    expect(count()).toBeLessThanOrEqual(1 + (performance.now() - begunAt) / 200);
  });

  test('is never answered from another application', async () => {
    const { find } = openCache();
    const { sessionId, userId } = await begin();
    expect(await find(sessionId, 5_000)).toBe(userId);
    expect(await find(sessionId, 5_000, other)).toBeUndefined();
    expect(await find(sessionId, 5_000)).toBe(userId);
  });

  test('is as fresh for a session that was not there', async () => {
    const { run, count } = countStatements(database);
    const { sessionId, userId } = await begin();
    let isBehind = true;
    using _clock = stopTimer();
    const live = new LiveSessions(async (statement, parameters) => {
      const rows = await run(statement, parameters);
      // An old primary has not heard of the session. An empty list fits every statement.
      return isBehind ? ([] as unknown as typeof rows) : rows;
    });
    for (let call = 0; call < 5; call++) expect(await live.find(tenant.id, sessionId, 0)).toBeUndefined();
    for (let call = 0; call < 20; call++) expect(await live.find(tenant.id, sessionId, 5_000)).toBeUndefined();
    expect(count()).toBe(5);
    isBehind = false;
    expect(await live.find(tenant.id, sessionId, 0)).toMatchObject({ userId });
    expect(await live.find(tenant.id, sessionId, 5_000)).toMatchObject({ userId });
    expect(count()).toBe(6);
  });
});

test('a session ends at its expiry, whatever is cached', async () => {
  const { sessionId } = await begin();
  const [session] = await service.database.sql`select created_at from sessions where id = ${sessionId}`;
  const clock = new TestClock(session?.created_at);
  await using replica = await startTestService({ database: service.database, like: service.config, clock: clock.read });
  const check = () => clientsOf(replica, tenant).sessions.checkSession({ sessionId });
  expect((await check()).active).toBe(true);
  clock.advance(15 * MINUTE);
  expect((await check()).active).toBe(false);
});

test('a revocation is seen at once by the process that made it', async () => {
  for (const revoke of [
    ({ sessionId }: { sessionId: string }) => sessions.revokeSession({ sessionId }),
    ({ userId }: { userId: string }) => sessions.revokeUserSessions({ userId }),
  ]) {
    const session = await begin();
    expect((await sessions.checkSession(session)).active).toBe(true);
    await revoke(session);
    expect((await sessions.checkSession(session)).active).toBe(false);
  }
});

test('a revocation that is repeated at another replica, as after a lost reply, is seen there at once', async () => {
  const session = await begin();
  expect((await sessions.checkSession(session)).active).toBe(true);
  await using replica = await startTestService({ database: service.database, like: service.config });
  await clientsOf(replica, tenant).sessions.revokeSession(session);
  await sessions.revokeSession(session);
  expect((await sessions.checkSession(session)).active).toBe(false);
});

test('without Postgres there is an answer within the bound, then an error, and never "not active"', async () => {
  const { run } = countStatements(database);
  let isGone = false;
  const live = new LiveSessions((statement, parameters) =>
    isGone ? Promise.reject(new DatabaseUnavailableError(new Error('gone'))) : run(statement, parameters),
  );
  const { sessionId, userId } = await begin();
  using _clock = stopTimer();
  await live.find(tenant.id, sessionId, 5_000);
  isGone = true;
  expect((await live.find(tenant.id, sessionId, 5_000))?.userId).toBe(userId);
  await expect(live.find(tenant.id, sessionId, 0)).rejects.toThrow(DatabaseUnavailableError);
  await expect(live.find(tenant.id, randomUUID(), 5_000)).rejects.toThrow(DatabaseUnavailableError);
  isGone = false;
  expect((await live.find(tenant.id, sessionId, 0))?.userId).toBe(userId);
});

test('answers 503 while no session can be read', async () => {
  const { sessionId } = await begin();
  await using slow = await startTestService({
    database: service.database,
    like: service.config,
    config: { requestTimeoutMs: 1_000 },
  });
  const { sessions: atSlow } = clientsOf(slow, tenant);
  const isActive = async () => (await atSlow.checkSession({ sessionId })).active;
  // On a busy machine the first call, which reads the key and the session, may be late.
  await expect.poll(() => isActive().catch(() => false)).toBe(true);
  await using _ = await holdLock(service.database, 'lock table session_ids in access exclusive mode');
  await expect(atSlow.checkSession({ sessionId, maxStalenessMs: 0 })).rejects.toThrow('Service unavailable');
});
