/** What is stored of a device, and decisions about it that come one after the other, although both browsers were asked before. */
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { Database } from '../../../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../../../src/domain/audit/audit-event.ts';
import { beginDeviceLogin } from '../../../../src/modules/oidc/domain/devices/begin-device-login.ts';
import { allowDevice, denyDevice } from '../../../../src/modules/oidc/domain/devices/decide-device-login.ts';
import { loginIntentIdsOf } from '../../../../src/modules/oidc/domain/devices/device-codes.ts';
import { findDeviceLogin } from '../../../../src/modules/oidc/domain/devices/find-device-login.ts';
import { findUserCode } from '../../../../src/modules/oidc/domain/devices/find-user-code.ts';
import { pollDeviceLogin } from '../../../../src/modules/oidc/domain/devices/poll-device-login.ts';
import { deriveTokenKeys } from '../../../../src/modules/oidc/domain/tokens/token-keys.ts';
import { LAYOUT } from '../../../support/database.ts';
import { adminClient, createTenant, createTestUser, startTestService } from '../../../support/service.ts';

const service = await startTestService();
const database = new Database(service.database.url, { connections: 1, layout: LAYOUT, statementTimeoutMs: 60_000 });
afterAll(async () => {
  await database.close();
  await service.close();
});
const { sql } = service.database;
const keys = deriveTokenKeys(service.config.secrets.encryptionKeys ?? []);

/** Begins a device, and returns how a person decides, and what is stored. */
async function begin() {
  const tenant = await createTenant(service);
  const now = new Date();
  const run = withAudit(database.within(Number.POSITIVE_INFINITY), { ...BY_USHER, action: 'test', now });
  const call = { run, now, application: { ...tenant, redirectUris: [] }, forClient: null };
  const wanted = { address: '::1', scope: 1, names: [], requiredAssurance: 1 };
  const { deviceCode, userCode } = await beginDeviceLogin(call, keys, wanted);
  const [id = ''] = loginIntentIdsOf(keys.deviceCode, deviceCode);
  const read = async () => {
    const [row] = await sql`select approved from login_intents where id = ${id}`;
    return row?.approved;
  };
  let woken = 0;
  const notices = { toLanguage: () => 'en', wake: () => void woken++ };
  const decide = async (approved: boolean, userId: string = randomUUID()) => {
    const found = await findDeviceLogin(call, id);
    if (!found) throw new Error('The login of the device is missing');
    const completed = { ...found, completedAt: found.completedAt ?? now, userId };
    await (approved ? allowDevice({ ...call, notices }, keys, completed) : denyDevice(call, found));
    return woken;
  };
  const set = (columns: object) => sql`update login_intents set ${sql(columns as never)} where id = ${id}`;
  return { call, tenant, id, deviceCode, userCode, decide, read, set };
}

test('nobody lets a device in before the sign-in, but may deny it', async () => {
  const { decide, read } = await begin();
  await decide(true, (await createTestUser(service)).id);
  expect(await read()).toBe(null);
  await decide(false);
  expect(await read()).toBe(false);
});

test('a device stays out once the sign-in has ended', async () => {
  const { id, decide, read } = await begin();
  const { id: userId } = await createTestUser(service);
  await adminClient(service).completeLogin({ loginIntentId: id, userId });
  await adminClient(service).endUserSessions({ userId });
  await decide(true, userId);
  expect(await read()).toBe(null);
});

test.each([
  [true, false],
  [false, true],
])('the first decision counts: %s, and then %s', async (first, second) => {
  const { id, decide, read } = await begin();
  const { id: userId } = await createTestUser(service);
  await adminClient(service).completeLogin({ loginIntentId: id, userId });
  for (const approved of [first, second]) await decide(approved, userId);
  expect(await read()).toBe(first);
});

test('who sends notices learns of the device at once', async () => {
  const { id, decide } = await begin();
  const { id: userId } = await createTestUser(service);
  await adminClient(service).completeLogin({ loginIntentId: id, userId });
  expect(await decide(true, userId)).toBe(1);
});

test('a device that was let in gets its tokens where the application demands no level', async () => {
  const { id, call, deviceCode, decide } = await begin();
  const { id: userId } = await createTestUser(service);
  await adminClient(service).completeLogin({ loginIntentId: id, userId });
  await decide(true, userId);
  expect(await pollDeviceLogin(call, keys, deviceCode)).toMatchObject({ userId, sid: id });
});

test('a device of the application itself asks for nothing at a resource', async () => {
  const { id } = await begin();
  expect(await sql`select client_id, scope_names from login_intents where id = ${id}`).toEqual([
    { client_id: null, scope_names: null },
  ]);
});

test('is not found once its application is deleted', async () => {
  const { call, tenant, id } = await begin();
  expect(await findDeviceLogin(call, id)).toMatchObject({ clientName: tenant.name, userLabel: '' });
  await sql`update applications set deleted_at = ${call.now} where id = ${tenant.id}`;
  expect(await findDeviceLogin(call, id)).toBeUndefined();
});

test.each([
  [{ email: 'ada@example.com', name: 'Ada', wallet_address: '0xa' }, 'ada@example.com'],
  [{ email: '', name: 'Ada', wallet_address: '0xb' }, 'Ada'],
  [{ email: '', name: null, wallet_address: '0xc' }, '0xc'],
])('the page calls %o by one of them', async (columns, label) => {
  const { call, id } = await begin();
  const { id: userId } = await createTestUser(service);
  await adminClient(service).completeLogin({ loginIntentId: id, userId });
  // No two users may have the same address, and this one has none.
  await sql`update users set email = id::text where email = ''`;
  await sql`update users set ${sql(columns)} where id = ${userId}`;
  expect(await findDeviceLogin(call, id)).toMatchObject({ userLabel: label });
});

describe('a user code', () => {
  test.each<[string, (now: Date) => object, boolean]>([
    ['opens its login', () => ({ approved: null }), true],
    ['opens it until it ends', (now) => ({ expires_at: new Date(now.getTime() + 1) }), true],
    ['is wrong when it ends', (now) => ({ expires_at: now }), false],
    ['is wrong once it was allowed', () => ({ approved: true }), false],
    ['is wrong once it was denied', () => ({ approved: false }), false],
  ])('%s', async (_, columns, isRight) => {
    const { call, id, userCode: code, set } = await begin();
    await set(columns(call.now));
    const found = await findUserCode(call, keys, { code, address: '2001:db8::1' });
    expect(found).toEqual(isRight ? { loginIntentId: id } : 'wrong');
  });

  test('may be wrong a hundred times for all networks of a site', async () => {
    const { call } = await begin();
    const guess = (network: number) =>
      findUserCode(call, keys, { code: 'BBBB-BBBB', address: `2001:db8:1:${network}::1` });
    for (let count = 0; count < 100; count++) expect(await guess(count)).toBe('wrong');
    expect(await guess(100)).toBe('too many');
  });
});
