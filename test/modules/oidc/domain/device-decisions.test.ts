/** Decisions about a device that reach Postgres one after the other, although both browsers were asked before. */
import { afterAll, expect, test } from 'vitest';
import { Database } from '../../../../src/database/database.ts';
import { BY_USHER, withAudit } from '../../../../src/domain/audit/audit-event.ts';
import { beginDeviceLogin } from '../../../../src/modules/oidc/domain/begin-device-login.ts';
import { decideDeviceLogin } from '../../../../src/modules/oidc/domain/decide-device-login.ts';
import { loginIntentIdsOf } from '../../../../src/modules/oidc/domain/device-codes.ts';
import { deriveTokenKeys } from '../../../../src/modules/oidc/domain/token-keys.ts';
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
  const login = { id, applicationId: tenant.id };
  const read = async () => {
    const [row] = await service.database.sql`select approved from usher.login_intents where id = ${id}`;
    return row?.approved;
  };
  return { id, decide: (approved: boolean) => decideDeviceLogin(call, login, { approved }), read };
}

test('nobody lets a device in before the sign-in, but may deny it', async () => {
  const { decide, read } = await begin();
  await decide(true);
  expect(await read()).toBe(null);
  await decide(false);
  expect(await read()).toBe(false);
});

test.each([
  [true, false],
  [false, true],
])('the first decision counts: %s, and then %s', async (first, second) => {
  const { id, decide, read } = await begin();
  const { id: userId } = await createTestUser(service);
  await adminClient(service).completeLogin({ loginIntentId: id, userId });
  for (const approved of [first, second]) await decide(approved);
  expect(await read()).toBe(first);
});
