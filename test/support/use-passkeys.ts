/** Every statement of passkeys, for tests that go over all statements. */
import { expect } from 'vitest';
import type { Call } from '../../src/domain/core/call.ts';
import type { EmailLoginParts } from '../../src/domain/login/complete-email-login.ts';
import { completeLogin } from '../../src/domain/login/complete-login.ts';
import { deletePasskey } from '../../src/domain/passkeys/delete-passkey.ts';
import { listPasskeys } from '../../src/domain/passkeys/list-passkeys.ts';
import { toSignInOrigin } from '../../src/domain/sessions/browser.ts';
import { countsForOperators, vouchForOperator } from '../../src/modules/console/sign-in.ts';
import { createChallenge } from '../../src/modules/passkeys/domain/challenge.ts';
import { toUserHandle } from '../../src/modules/passkeys/domain/creation-options.ts';
import { listOwnPasskeys } from '../../src/modules/passkeys/domain/list-own-passkeys.ts';
import { redeemPasskey } from '../../src/modules/passkeys/domain/redeem-passkey.ts';
import { createRelyingParty } from '../../src/modules/passkeys/domain/relying-party.ts';
import { renamePasskey } from '../../src/modules/passkeys/domain/rename-passkey.ts';
import { storePasskey } from '../../src/modules/passkeys/domain/store-passkey.ts';
import { newBrowser } from './new-browser.ts';
import { SoftwarePasskey } from './passkey.ts';
import { reasonOf } from './refusals.ts';
import { createLoginIntent, createTestUser, PUBLIC_URL, type Tenant, type TestService } from './service.ts';

/** Adds a passkey twice, signs in with it, and renames and deletes it. */
export async function usePasskeys(
  call: Call,
  parts: EmailLoginParts,
  encryptionKeys: readonly Buffer[],
  { service, tenant, letIn }: { service: TestService; tenant: Tenant; letIn?: (userId: string) => Promise<unknown> },
): Promise<void> {
  const relyingParty = createRelyingParty(`${PUBLIC_URL}/login`, undefined, encryptionKeys);
  const { keys, rpId, origin } = relyingParty;
  const browser = newBrowser();
  const { id: userId } = await createTestUser(service);
  await letIn?.(userId);
  const added = { loginIntentId: await createLoginIntent(service, tenant), browser };
  const how = { method: 'email', ...toSignInOrigin(browser) } as const;
  await completeLogin(call, parts.tokens, { ...added, userId }, { how });
  const passkey = new SoftwarePasskey();
  const creation = createChallenge(keys, { purpose: 'passkey create', ...added, userId }, call.now);
  const asked = { rpId, origin, challenge: creation, userHandle: toUserHandle(userId) };
  const store = () =>
    storePasskey(call, relyingParty, browser, { ...added, credential: passkey.create(asked) }, () => 'Passkey');
  await store();
  expect(await reasonOf(store())).toBe('PASSKEY_ALREADY_EXISTS');
  const used = { loginIntentId: await createLoginIntent(service, tenant), browser };
  const challenge = createChallenge(keys, { purpose: 'passkey get', ...used }, call.now);
  const credential = passkey.answer({ rpId, origin, challenge });
  await redeemPasskey(call, { ...parts, demandsPasskey: () => false, relyingParty }, browser, { ...used, credential });
  const [{ id: passkeyId } = { id: '' }] = await listOwnPasskeys(call, { userId }, relyingParty);
  expect(await countsForOperators(call, { userId, loginIntentId: used.loginIntentId })).toBe(false);
  await vouchForOperator(call, { userId, loginIntentId: added.loginIntentId });
  await renamePasskey(call, { userId, passkeyId, name: 'Key on the ring' });
  await listPasskeys(call, { userId });
  await deletePasskey(call, { userId, passkeyId });
}
