import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Database, DatabaseUnavailableError, type Run } from '../../../src/database/database.ts';
import { generateApiKey } from '../../../src/domain/api-keys/api-key.ts';
import { ApiKeys } from '../../../src/domain/api-keys/api-keys.ts';
import { countStatements } from '../../support/count-statements.ts';
import { HttpPool } from '../../support/http-pool.ts';
import { holdLock } from '../../support/lock.ts';
import { refusalOf } from '../../support/refusals.ts';
import { adminClient, createTenant, startTestService, type Tenant, type TestService } from '../../support/service.ts';

const INVALID_API_KEY = { kind: 'unauthenticated', message: 'Invalid API key', violations: [], cause: undefined };

let service: TestService;
let database: Database;

beforeAll(async () => {
  service = await startTestService();
  database = new Database(service.database.url, { connections: 2, statementTimeoutMs: 5_000 });
});

afterAll(async () => {
  await database.close();
  await service.close();
});

describe('a known key', () => {
  test('is looked up once, however often it is used', async () => {
    const tenant = await createTenant(service);
    const { run, count } = countStatements(database);
    const apiKeys = new ApiKeys(run);
    for (let call = 0; call < 1_000; call++) {
      expect((await apiKeys.authenticate(tenant.apiKey, patiently())).clientId).toBe(tenant.clientId);
    }
    expect(count()).toBe(1);
  });

  test('is looked up once by callers who come at the same time', async () => {
    const tenant = await createTenant(service);
    const { run, count } = countStatements(database);
    const apiKeys = new ApiKeys(run);
    const callers = Array.from({ length: 200 }, () => apiKeys.authenticate(tenant.apiKey, patiently()));
    expect(new Set((await Promise.all(callers)).map(({ id }) => id))).toEqual(new Set([tenant.id]));
    expect(count()).toBe(1);
  });

  test("is its own application's, whatever other keys are used", async () => {
    const tenants = await Promise.all(Array.from({ length: 5 }, () => createTenant(service)));
    const apiKeys = new ApiKeys(countStatements(database).run);
    const owners = Array.from({ length: 100 }, (_, call) =>
      apiKeys.authenticate(tenants[call % 5]?.apiKey, patiently()),
    );
    expect((await Promise.all(owners)).map(({ id }) => id)).toEqual(
      Array.from({ length: 100 }, (_, call) => tenants[call % 5]?.id),
    );
  });

  test('is not pushed out by a flood of guesses', async () => {
    const tenant = await createTenant(service);
    const { run } = countStatements(database);
    let isGone = false;
    const apiKeys = new ApiKeys((statement, parameters) =>
      isGone ? new Promise(() => {}) : run(statement, parameters),
    );
    await apiKeys.authenticate(tenant.apiKey, patiently());
    const guesses = Array.from({ length: 1_000 }, () => refusalOf(apiKeys.authenticate(generateApiKey(), patiently())));
    await Promise.all(guesses);
    isGone = true;
    expect((await apiKeys.authenticate(tenant.apiKey, patiently())).id).toBe(tenant.id);
  });
});

describe('an unknown key', () => {
  test('is looked up once and remembered', async () => {
    const { run, count } = countStatements(database);
    const apiKeys = new ApiKeys(run);
    const unknown = generateApiKey();
    for (let call = 0; call < 100; call++) {
      expect(await refusalOf(apiKeys.authenticate(unknown, patiently()))).toEqual(INVALID_API_KEY);
    }
    expect(count()).toBe(1);
  });

  test('is looked up once by callers who come at the same time', async () => {
    const { run, count } = countStatements(database);
    const apiKeys = new ApiKeys(run);
    const unknown = generateApiKey();
    const refusals = Array.from({ length: 50 }, () => refusalOf(apiKeys.authenticate(unknown, patiently())));
    expect(await Promise.all(refusals)).toEqual(Array(50).fill(INVALID_API_KEY));
    expect(count()).toBe(1);
  });
});

describe('a look-up that fails', () => {
  /** Fails once. */
  function unavailableAtFirst() {
    const { run, count } = countStatements(database);
    let isFirst = true;
    const fail: Run = async (statement, parameters) => {
      if (!isFirst) return run(statement, parameters);
      isFirst = false;
      throw new DatabaseUnavailableError(new Error('gone'));
    };
    return { run: fail, count };
  }

  test('is told as it is, not as a bad key, and made again for the next call', async () => {
    const tenant = await createTenant(service);
    const { run, count } = unavailableAtFirst();
    const apiKeys = new ApiKeys(run);
    await expect(apiKeys.authenticate(tenant.apiKey, patiently())).rejects.toThrow(DatabaseUnavailableError);
    expect((await apiKeys.authenticate(tenant.apiKey, patiently())).id).toBe(tenant.id);
    expect(count()).toBe(1);
  });

  test('makes no key unknown', async () => {
    const { run, count } = unavailableAtFirst();
    const apiKeys = new ApiKeys(run);
    const unknown = generateApiKey();
    await expect(apiKeys.authenticate(unknown, patiently())).rejects.toThrow(DatabaseUnavailableError);
    expect(await refusalOf(apiKeys.authenticate(unknown, patiently()))).toEqual(INVALID_API_KEY);
    expect(count()).toBe(1);
  });

  test('for want of time in one call does not fail another call that has more', async () => {
    const tenant = await createTenant(service);
    const apiKeys = new ApiKeys(countStatements(database).run);
    await using lock = await holdLock(service.database, 'lock table api_keys in access exclusive mode');
    const hurried = outcomeOf(apiKeys.authenticate(tenant.apiKey, { deadline: performance.now() + 100 }));
    const patient = outcomeOf(apiKeys.authenticate(tenant.apiKey, patiently()));
    expect(await hurried).toBeInstanceOf(DatabaseUnavailableError);
    await lock.release();
    expect(await patient).toMatchObject({ id: tenant.id });
  });
});

describe('a revoked key', () => {
  test('stops working at once on the instance that revoked it', async () => {
    const tenant = await createTenant(service);
    using pool = new HttpPool(service, { 'x-api-key': tenant.apiKey });
    expect((await getWebhook(pool)).status).toBe(404);
    await adminClient(service).revokeApiKey({ apiKeyId: tenant.apiKeyId });
    expect(await getWebhook(pool)).toEqual({ status: 401, body: { status: false, message: 'Invalid API key' } });
  });

  test('stops working at once while it is in use', async () => {
    const tenant = await createTenant(service);
    using pool = new HttpPool(service, { 'x-api-key': tenant.apiKey });
    let isRevoked = false;
    let isOver = false;
    const late: number[] = [];
    const users = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        const wasRevoked = isRevoked;
        const { status } = await getWebhook(pool);
        if (wasRevoked) late.push(status);
      }
    });
    await sleep(50);
    await adminClient(service).revokeApiKey({ apiKeyId: tenant.apiKeyId });
    isRevoked = true;
    await sleep(50);
    isOver = true;
    await Promise.all(users);
    expect(late.length).toBeGreaterThan(0);
    expect(new Set(late)).toEqual(new Set([401]));
  });

  test("leaves the application's other keys alone", async () => {
    const tenant = await createTenant(service);
    const other = await adminClient(service).createApiKey({ applicationId: tenant.id });
    await adminClient(service).revokeApiKey({ apiKeyId: tenant.apiKeyId });
    using pool = new HttpPool(service, { 'x-api-key': other.apiKey });
    expect((await getWebhook(pool)).status).toBe(404);
  });

  describe.concurrent('elsewhere', () => {
    test.each<[string, number, (tenant: Tenant) => Promise<unknown>]>([
      ['under load', 8, ({ apiKeyId }) => adminClient(service).revokeApiKey({ apiKeyId })],
      ['with hardly a call', 1, ({ apiKeyId }) => adminClient(service).revokeApiKey({ apiKeyId })],
      ['with its application', 8, ({ id }) => adminClient(service).deleteApplication({ applicationId: id })],
    ])('stops working within 5 seconds %s', async (_, users, revoke) => {
      await using other = await startTestService({ database: service.database, like: service.config });
      const tenant = await createTenant(other);
      using pool = new HttpPool(other, { 'x-api-key': tenant.apiKey });
      expect((await getWebhook(pool)).status).toBe(404);
      await revoke(tenant);
      const revokedAt = performance.now();
      let lastAccepted = revokedAt;
      let isRefused = false;
      const callers = Array.from({ length: users }, async () => {
        while (!isRefused && lastAccepted - revokedAt < 5_000) {
          const sentAt = performance.now();
          const { status } = await getWebhook(pool);
          if (status === 404) lastAccepted = Math.max(lastAccepted, sentAt);
          else isRefused = true;
          await sleep(users === 1 ? 700 : 2);
        }
      });
      await Promise.all(callers);
      expect(lastAccepted - revokedAt).toBeLessThan(5_000);
      expect(await getWebhook(pool)).toEqual({ status: 401, body: { status: false, message: 'Invalid API key' } });
    });
  });
});

function getWebhook(pool: HttpPool) {
  return pool.call('GET', `/api/webhooks/wh_${'0'.repeat(32)}`);
}

function outcomeOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.catch((error: unknown) => error);
}

function patiently() {
  return { deadline: performance.now() + 5_000 };
}
