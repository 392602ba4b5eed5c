/** A revoked session at the replica that revoked it, and at another, while both answer as many checks as they can. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { HttpPool } from '../support/http.ts';
import { beginSession, createTenant, createTestUser, startTestService } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const BATCHES = quickOrLong(1, 10);
/** How many sessions are revoked at the same time. */
const BATCH_SIZE = quickOrLong(8, 30);

const service = await startTestService();
const replica = await startTestService({ database: service.database, like: service.config });

afterAll(async () => {
  await replica.close();
  await service.close();
});

describe.concurrent('a revoked session', () => {
  test.for(quickOrLong([0, 500], [0, 500, 5_000]))(
    'is refused at once where it was revoked, and within a bound of %d ms elsewhere',
    async (maxStalenessMs, context) => {
      const tenant = await createTenant(service);
      const headers = { 'x-api-key': tenant.apiKey };
      using revoker = new HttpPool(service, headers);
      using other = new HttpPool(replica, headers);
      const pools = [revoker, other] as const;
      const isActive = async (pool: HttpPool, sessionId: string) => {
        const fields = { sessionId, maxStalenessMs };
        const { status, body } = await pool.call<{ data: { active: boolean } }>('POST', '/api/sessions/check', fields);
        expect(status).toBe(200);
        return body.data.active;
      };
      /** Checks the session until it is refused. Returns when the last check began that was not refused. */
      const findLastActive = async (pool: HttpPool, sessionId: string) => {
        for (let lastActiveAt = Number.NEGATIVE_INFINITY; ; ) {
          const startedAt = performance.now();
          if (!(await isActive(pool, sessionId))) return lastActiveAt;
          lastActiveAt = startedAt;
        }
      };
      const begin = async () => beginSession(service, tenant, await createTestUser(service));
      const revoke = async (sessionId: string) =>
        expect((await revoker.call('POST', '/api/sessions/revoke', { sessionId })).status).toBe(200);
      /** Returns how long after the revocation each replica accepted the session. */
      const revokeOne = async () => {
        const sessionId = await begin();
        for (const pool of pools) expect(await isActive(pool, sessionId)).toBe(true);
        const lastActiveAt = pools.map((pool) => findLastActive(pool, sessionId));
        await revoke(sessionId);
        const revokedAt = performance.now();
        const acceptedMs = (await Promise.all(lastActiveAt)).map((at) => at - revokedAt);
        for (const pool of pools) expect(await isActive(pool, sessionId)).toBe(false);
        return acceptedMs;
      };

      /** Checks a session when the bound is over. Checks before that would have read it anew in the background. */
      const revokeIdle = async () => {
        const sessionId = await begin();
        expect(await isActive(other, sessionId)).toBe(true);
        await revoke(sessionId);
        await sleep(maxStalenessMs);
        expect(await isActive(other, sessionId)).toBe(false);
      };

      const accepted: number[][] = [];
      for (let batch = 0; batch < BATCHES; batch++) {
        // First, since the others keep the replicas busy, and this check should come right after the bound.
        await Promise.all(Array.from({ length: BATCH_SIZE }, revokeIdle));
        accepted.push(...(await Promise.all(Array.from({ length: BATCH_SIZE }, revokeOne))));
      }
      const [byRevoker, byOther] = pools.map((_, at) => Math.max(...accepted.map((times) => times[at] ?? Number.NaN)));
      report(context, {
        tried: `${2 * accepted.length} sessions revoked, half of them in use, checked with a bound of ${maxStalenessMs} ms`,
        figures: `the last check that was not refused began ${byRevoker?.toFixed(0)} ms after the revocation at its replica, ${byOther?.toFixed(0)} ms at the other`,
      });
      expect(byRevoker).toBeLessThanOrEqual(0);
      expect(byOther).toBeLessThanOrEqual(maxStalenessMs);
    },
  );
});
