/** Sessions that a service checks in its own memory, with a real Usher. The rules: test/client/bounded-answers.test.ts. */
import { afterAll, expect, test, vi } from 'vitest';
import { SessionChecks } from '../../../src/client/session-checks.ts';
import { createUsherClient } from '../../../src/client/usher-client.ts';
import { pause } from '../../../src/pause.ts';
import { TcpProxy } from '../../../src/testing/tcp-proxy.ts';
import {
  adminClient,
  beginSession,
  createTenant,
  createTestUser,
  startTestService,
  type Tenant,
} from '../../support/service.ts';

const BOUND_MS = 500;
const service = await startTestService();
const replica = await startTestService({ database: service.database, like: service.config });
afterAll(async () => {
  await replica.close();
  await service.close();
});
const tenant = await createTenant(service);

/** A service in front of the replica. It has asked for the session, and knows what has ended. */
async function openReader(sessionId: string, baseUrl = replica.url, { apiKey } = tenant) {
  const client = createUsherClient({ baseUrl, apiKey });
  const checkSession = vi.spyOn(client.sessions, 'checkSession');
  const checks = new SessionChecks({ client, boundMs: BOUND_MS, timeoutMs: 2_000 });
  await vi.waitFor(async () => {
    const before = checkSession.mock.calls.length;
    expect(await checks.find(sessionId)).toBeDefined();
    expect(checkSession.mock.calls.length).toBe(before);
  });
  return { checks, checkSession };
}

test('in quiet times more than 99 % of the checks make no call', async () => {
  const sessionId = await beginSession(service, tenant, await createTestUser(service));
  const { checks, checkSession } = await openReader(sessionId);
  checkSession.mockClear();
  let count = 0;
  for (const until = performance.now() + 2 * BOUND_MS; performance.now() < until; count++) {
    await checks.find(sessionId);
    if (count % 100 === 0) await pause(1);
  }
  expect(checkSession.mock.calls.length).toBeLessThan(count / 100);
});

test.each(['pass', 'delay', 'freeze', 'refuse'] as const)(
  'a revocation at another replica is seen within the bound, or asked for, with a network in mode %s',
  async (mode) => {
    await using proxy = await TcpProxy.open(`postgres://usher@127.0.0.1:${replica.port}/usher`);
    const user = await createTestUser(service);
    const sessionId = await beginSession(service, tenant, user);
    const { checks } = await openReader(sessionId, proxy.through(replica.url));
    await proxy.setMode(mode);
    await adminClient(service).endUserSessions({ userId: user.id });
    const answeredAt = performance.now();
    const live: number[] = [];
    while (performance.now() < answeredAt + 3 * BOUND_MS) {
      const begunAt = performance.now();
      const session = await checks.find(sessionId).catch(() => undefined);
      if (session) live.push(begunAt - answeredAt);
      await pause(5);
    }
    expect(Math.max(0, ...live)).toBeLessThanOrEqual(BOUND_MS);
  },
);

test.each<[string, (of: Tenant) => Promise<unknown>]>([
  ['key was revoked', ({ apiKeyId }) => adminClient(service).revokeApiKey({ apiKeyId })],
  ['application was deleted', ({ id }) => adminClient(service).deleteApplication({ applicationId: id })],
])('no answer is taken from memory after its %s five seconds and a bound ago', async (_, end) => {
  const own = await createTenant(service);
  const sessionId = await beginSession(service, own, await createTestUser(service));
  const { checks } = await openReader(sessionId, replica.url, own);
  await end(own);
  const answeredAt = performance.now();
  const live: number[] = [];
  while (performance.now() < answeredAt + 6_500) {
    const begunAt = performance.now();
    if (await checks.find(sessionId).catch(() => undefined)) live.push(begunAt - answeredAt);
    await pause(20);
  }
  expect(Math.max(0, ...live)).toBeLessThanOrEqual(5_000 + BOUND_MS);
  await expect(checks.find(sessionId)).rejects.toThrow('Invalid API key');
});

test('a revocation that commits long after it was written is seen within the bound of its commit', async () => {
  const user = await createTestUser(service);
  const sessionId = await beginSession(service, tenant, user);
  const { checks } = await openReader(sessionId);
  const { promise, resolve } = Promise.withResolvers<void>();
  const held = service.database.sql.begin(async (sql) => {
    await sql`insert into user_cutoffs (user_id, cutoff_at, expires_at)
      values (${user.id}, now(), now() + interval '1 day')`;
    await promise;
  });
  // Longer than a reader with a fixed window looks back.
  const until = performance.now() + 8_000;
  while (performance.now() < until) {
    expect(await checks.find(sessionId)).toBeDefined();
    await pause(50);
  }
  resolve();
  await held;
  await pause(BOUND_MS);
  expect(await checks.find(sessionId)).toBeUndefined();
});

test('after a restore the memory is empty, and fills again', async () => {
  const sessionId = await beginSession(service, tenant, await createTestUser(service));
  const { checks, checkSession } = await openReader(sessionId);
  checkSession.mockClear();
  // A table that was written anew has another epoch.
  await service.database.sql`vacuum full session_cutoffs`;
  await vi.waitFor(async () => {
    await checks.find(sessionId);
    expect(checkSession).toHaveBeenCalled();
  });
  await vi.waitFor(async () => {
    checkSession.mockClear();
    expect(await checks.find(sessionId)).toBeDefined();
    expect(checkSession).not.toHaveBeenCalled();
  });
});
