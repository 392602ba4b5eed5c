/** Every statement of device logins and of the tokens of machines, for tests that go over all statements. */
import { randomUUID } from 'node:crypto';
import type { ApplicationCall } from '../../src/domain/core/call.ts';
import { beginDeviceLogin } from '../../src/modules/oidc/domain/devices/begin-device-login.ts';
import { allowDevice, denyDevice } from '../../src/modules/oidc/domain/devices/decide-device-login.ts';
import { findDeviceLogin } from '../../src/modules/oidc/domain/devices/find-device-login.ts';
import { findUserCode } from '../../src/modules/oidc/domain/devices/find-user-code.ts';
import { pollDeviceLogin } from '../../src/modules/oidc/domain/devices/poll-device-login.ts';
import { MachineKeys } from '../../src/modules/oidc/domain/machines/machine-keys.ts';
import { deriveTokenKeys } from '../../src/modules/oidc/domain/tokens/token-keys.ts';

export async function useDevices(of: ApplicationCall, encryptionKeys: readonly Buffer[]): Promise<void> {
  const call = { ...of, forClient: null };
  const keys = deriveTokenKeys(encryptionKeys);
  const { deviceCode, userCode } = await beginDeviceLogin(call, keys, {
    address: '::1',
    scope: 1,
    names: [],
    requiredAssurance: 1,
  });
  const found = await findUserCode(call, keys, { code: userCode, address: '::1' });
  if (typeof found === 'string') throw new Error(`The code is ${found}`);
  const login = await findDeviceLogin(call, found.loginIntentId);
  if (!login) throw new Error('The login of the device is missing');
  await pollDeviceLogin(call, keys, deviceCode).catch(() => undefined);
  await allowDevice(call, keys, { ...login, completedAt: new Date(), userId: randomUUID() });
  await denyDevice(call, login);
  await new MachineKeys(call.run).find(randomUUID(), randomUUID());
}
