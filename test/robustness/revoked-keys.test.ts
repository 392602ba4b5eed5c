/** A revoked key on replicas that did not revoke it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { HttpPool } from '../support/http.ts';
import { adminClient, createTenant, startTestService, type Tenant } from '../support/service.ts';

const LIMIT_MS = 5_000;

const service = await startTestService();

afterAll(() => service.close());

describe.concurrent('a revoked key', () => {
  test.each<[string, number, (tenant: Tenant) => Promise<unknown>]>([
    ['under load', 8, ({ apiKeyId }) => adminClient(service).revokeApiKey({ apiKeyId })],
    ['with hardly a call', 1, ({ apiKeyId }) => adminClient(service).revokeApiKey({ apiKeyId })],
    ['with its application', 8, ({ id }) => adminClient(service).deleteApplication({ applicationId: id })],
  ])('is refused within 5 seconds on every replica: %s', async (_, users, revoke) => {
    await using replica = await startTestService({ database: service.database, like: service.config });
    const tenant = await createTenant(replica);
    using pool = new HttpPool(replica, { 'x-api-key': tenant.apiKey });
    expect((await getWebhook(pool)).status).toBe(404);
    await revoke(tenant);
    const revokedAt = performance.now();
    let lastAccepted = revokedAt;
    let isRefused = false;
    const callers = Array.from({ length: users }, async () => {
      while (!isRefused && lastAccepted - revokedAt < LIMIT_MS) {
        const sentAt = performance.now();
        const { status } = await getWebhook(pool);
        if (status === 404) lastAccepted = Math.max(lastAccepted, sentAt);
        else isRefused = true;
        await sleep(users === 1 ? 700 : 2);
      }
    });
    await Promise.all(callers);
    expect(lastAccepted - revokedAt).toBeLessThan(LIMIT_MS);
    expect(await getWebhook(pool)).toEqual({
      status: 401,
      body: { status: false, message: 'Invalid API key', reason: 'INVALID_API_KEY' },
    });
  });
});

function getWebhook(pool: HttpPool) {
  return pool.call('GET', `/api/webhooks/wh_${'0'.repeat(32)}`);
}
