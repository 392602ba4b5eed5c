/** Decisions about a device that reach Postgres one after the other, although both browsers were asked before. */
import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { Database } from '../../../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../../../src/domain/audit/audit-event.ts';
import { beginDeviceLogin } from '../../../../src/modules/oidc/domain/devices/begin-device-login.ts';
import { allowDevice, denyDevice } from '../../../../src/modules/oidc/domain/devices/decide-device-login.ts';
import { loginIntentIdsOf } from '../../../../src/modules/oidc/domain/devices/device-codes.ts';
import { findDeviceLogin } from '../../../../src/modules/oidc/domain/devices/find-device-login.ts';
import { deriveTokenKeys } from '../../../../src/modules/oidc/domain/tokens/token-keys.ts';
import { LAYOUT } from '../../../support/database.ts';
import { adminClient, createTenant, createTestUser, startTestService } from '../../../support/service.ts';

const service = await startTestService();
const database = new Database(service.database.url, { connections: 1, layout: LAYOUT, statementTimeoutMs: 60_000 });
afterAll(async () => {
  await database.close();
  await service.close();
});
const keys = deriveTokenKeys(service.config.secrets.encryptionKeys ?? []);

/** Begins a device, and returns how a person decides, and what is stored. */
async function begin() {
  const tenant = await createTenant(service);
  const now = new Date();
  const run = withAudit(database.within(Number.POSITIVE_INFINITY), { ...BY_USHER, action: 'test', now });
  const call = { run, now, application: { ...tenant, redirectUris: [] }, forClient: null };
  const wanted = { address: '::1', scope: 1, names: [], requiredAssurance: 1 };
  const { deviceCode } = await beginDeviceLogin(call, keys, wanted);
  const [id = ''] = loginIntentIdsOf(keys.deviceCode, deviceCode);
  const read = async () => {
    const [row] = await service.database.sql`select approved from usher.login_intents where id = ${id}`;
    return row?.approved;
  };
  const decide = async (approved: boolean, userId: string = randomUUID()) => {
    const found = await findDeviceLogin(call, id);
    if (!found) throw new Error('The login of the device is missing');
    const completed = { ...found, completedAt: found.completedAt ?? now, userId };
    await (approved ? allowDevice(call, keys, completed) : denyDevice(call, found));
  };
  return { id, decide, read };
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
