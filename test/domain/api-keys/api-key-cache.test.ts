import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { Code } from '@connectrpc/connect';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { Database, DatabaseUnavailableError, type Run } from '../../../src/database/pool/database.ts';
import { ApiKeys } from '../../../src/domain/api-keys/api-keys.ts';
import { generateApiKey } from '../../../src/domain/applications/api-key.ts';
import { stopTimer } from '../../support/clock.ts';
import { countStatements } from '../../support/count-statements.ts';
import { LAYOUT } from '../../support/database.ts';
import { HttpPool } from '../../support/http.ts';
import { holdLock } from '../../support/lock.ts';
import { refusalOf } from '../../support/refusals.ts';
import { adminClient, clientsOf, createTenant, startTestService } from '../../support/service.ts';

const INVALID_API_KEY = {
  code: 'unauthenticated',
  message: 'Invalid API key',
  violations: [],
  reason: 'INVALID_API_KEY',
};

const service = await startTestService();
const database = new Database(service.database.url, { connections: 2, layout: LAYOUT, statementTimeoutMs: 60_000 });

afterAll(async () => {
  await database.close();
  await service.close();
});

describe('a known key', () => {
  test('is looked up once, however often and by however many callers at a time it is used', async () => {
    const tenant = await createTenant(service);
    const { run, count } = countStatements(database);
    const apiKeys = new ApiKeys(run);
    using _clock = stopTimer();
    const callers = Array.from({ length: 200 }, () => apiKeys.authenticate(tenant.apiKey));
    expect(new Set((await Promise.all(callers)).map(({ application }) => application.id))).toEqual(
      new Set([tenant.id]),
    );
    for (let call = 0; call < 100; call++) {
      expect((await apiKeys.authenticate(tenant.apiKey)).application.clientId).toBe(tenant.clientId);
    }
    expect(count()).toBe(1);
  });

  test('belongs to its own application, whatever other keys are in use', async () => {
    const tenants = await Promise.all(Array.from({ length: 5 }, () => createTenant(service)));
    const apiKeys = new ApiKeys(countStatements(database).run);
    const owners = Array.from({ length: 100 }, (_, call) => apiKeys.authenticate(tenants[call % 5]?.apiKey));
    expect((await Promise.all(owners)).map(({ application }) => application.id)).toEqual(
      Array.from({ length: 100 }, (_, call) => tenants[call % 5]?.id),
    );
  });

  test('is not evicted by a flood of guesses', async () => {
    const tenant = await createTenant(service);
    const { run } = countStatements(database);
    let isGone = false;
    const apiKeys = new ApiKeys((statement, parameters) =>
      isGone ? new Promise(() => {}) : run(statement, parameters),
    );
    using _clock = stopTimer();
    await apiKeys.authenticate(tenant.apiKey);
    const guesses = Array.from({ length: 1_000 }, () => refusalOf(apiKeys.authenticate(generateApiKey())));
    await Promise.all(guesses);
    isGone = true;
    expect((await apiKeys.authenticate(tenant.apiKey)).application.id).toBe(tenant.id);
  });
});

test('a key that Postgres did not have, as an old primary may not, works within 5 s', async () => {
  const tenant = await createTenant(service);
  const { run } = countStatements(database);
  using timer = stopTimer();
  let isBehind = true;
  const apiKeys = new ApiKeys(async (statement, parameters) => {
    const rows = await run(statement, parameters);
    // An empty list fits every statement.
    return isBehind ? ([] as unknown as typeof rows) : rows;
  });
  expect(await refusalOf(apiKeys.authenticate(tenant.apiKey))).toEqual(INVALID_API_KEY);
  isBehind = false;
  timer.advance(4_001);
  expect((await apiKeys.authenticate(tenant.apiKey)).application.id).toBe(tenant.id);
});

test('an unknown key is looked up once and remembered', async () => {
  const { run, count } = countStatements(database);
  const apiKeys = new ApiKeys(run);
  const unknown = generateApiKey();
  using _clock = stopTimer();
  const refuse = () => refusalOf(apiKeys.authenticate(unknown));
  expect(await Promise.all(Array.from({ length: 50 }, refuse))).toEqual(Array(50).fill(INVALID_API_KEY));
  for (let call = 0; call < 50; call++) expect(await refuse()).toEqual(INVALID_API_KEY);
  expect(count()).toBe(1);
});

describe('a failed look-up', () => {
  test('is unavailable to the caller, not a bad key, and is made again for the next call', async () => {
    const tenant = await createTenant(service);
    for (const [key, outcome] of [
      [tenant.apiKey, { application: { id: tenant.id } }],
      [generateApiKey(), INVALID_API_KEY],
    ] as const) {
      const { run, count } = countStatements(database);
      let isFirst = true;
      const failAtFirst: Run = async (statement, parameters) => {
        if (!isFirst) return run(statement, parameters);
        isFirst = false;
        throw new DatabaseUnavailableError(new Error('gone'));
      };
      const apiKeys = new ApiKeys(failAtFirst);
      await expect(apiKeys.authenticate(key)).rejects.toThrow(DatabaseUnavailableError);
      expect(await outcomeOf(apiKeys.authenticate(key))).toMatchObject(outcome);
      expect(count()).toBe(1);
    }
  });

  test('of a call without time left does not fail another call', async () => {
    const tenant = await createTenant(service);
    const { webhooks } = clientsOf(service, tenant);
    await using lock = await holdLock(service.database, 'lock table api_keys in access exclusive mode');
    const hurried = outcomeOf(webhooks.listWebhooks({}, { timeoutMs: 100 }));
    const unhurried = outcomeOf(webhooks.listWebhooks({}));
    expect(await hurried).toMatchObject({ code: Code.DeadlineExceeded });
    await lock.release();
    expect(await unhurried).toMatchObject({ webhooks: [] });
  });
});

describe('a revoked key', () => {
  test('is used for less than 4 s after it was read, even if Postgres does not answer', async () => {
    const tenant = await createTenant(service);
    const { run } = countStatements(database);
    let hangs = false;
    const apiKeys = new ApiKeys((statement, parameters) =>
      hangs ? new Promise(() => {}) : run(statement, parameters),
    );
    using timer = stopTimer();
    const use = () => apiKeys.authenticate(tenant.apiKey);
    await use();
    // Another replica revokes the key.
    hangs = true;
    timer.advance(3_999);
    expect((await use()).application.id).toBe(tenant.id);
    timer.advance(1);
    const answered = vi.fn();
    use().then(answered, answered);
    await nextTurn();
    expect(answered).not.toHaveBeenCalled();
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
    await expect.poll(() => late.length).toBeGreaterThan(users.length);
    isOver = true;
    await Promise.all(users);
    expect(new Set(late)).toEqual(new Set([401]));
  });
});

function getWebhook(pool: HttpPool) {
  return pool.call('GET', `/api/webhooks/wh_${'0'.repeat(32)}`);
}

function outcomeOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.catch((error: unknown) => error);
}
