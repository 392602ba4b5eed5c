/** Every statement of identities at other providers, for tests that go over all statements. */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Call } from '../../src/domain/core/call.ts';
import { deleteUserIdentity } from '../../src/domain/identities/delete-identity.ts';
import { linkIdentity } from '../../src/domain/identities/link-identity.ts';
import { listUserIdentities } from '../../src/domain/identities/list-identities.ts';
import type { EmailLoginParts } from '../../src/domain/login/complete-email-login.ts';
import { createLoginCode } from '../../src/domain/login/create-login-code.ts';
import { redeemLoginCode } from '../../src/domain/login/redeem-login-code.ts';
import { redeemProviderAnswer } from '../../src/modules/providers/domain/redeem-provider-answer.ts';
import { newBrowser } from './new-browser.ts';
import { reasonOf } from './refusals.ts';
import { createLoginIntent, createTestUser, type Tenant, type TestService } from './service.ts';

/** Links an identity by a code, signs in with it, and tries to give it to somebody else. */
export async function useIdentities(
  call: Call,
  parts: EmailLoginParts,
  { service, tenant }: { service: TestService; tenant: Tenant },
): Promise<void> {
  const browser = newBrowser();
  const user = await createTestUser(service);
  const identity = { issuer: 'https://provider.test', subject: randomUUID(), email: user.email };
  const provider = {
    id: 'acme',
    name: 'Acme',
    type: 'openid',
    issuer: identity.issuer,
    clientId: 'usher',
    clientSecret: 'secret',
    trustEmail: false,
    emailDomains: [],
  } as const;
  const authenticatedAt = new Date(call.now.getTime() - 300_000);
  const identify = async () => ({ ...identity, isEmailVerified: false, name: '', authenticatedAt });
  const answer = async (loginIntentId: string) => {
    const secrets = { state: '', nonce: '', codeVerifier: '' };
    const authorization = { subjectId: loginIntentId, id: randomUUID(), begunAt: call.now, ...secrets };
    const callback = new URL('https://usher.test');
    const asked = { connection: { provider, identify }, callback, authorization, purpose: 'login' } as const;
    return await redeemProviderAnswer(call, { ...parts, hasEmail: true }, browser, asked);
  };
  const linking = { loginIntentId: await createLoginIntent(service, tenant) };
  expect(await answer(linking.loginIntentId)).toEqual({ email: user.email });
  const { code } = await createLoginCode(call, parts, browser, { ...linking, email: user.email, link: 'acme' });
  await redeemLoginCode(call, parts, browser, { ...linking, link: 'acme', code });
  expect(await answer(await createLoginIntent(service, tenant))).toHaveProperty('redirectUrl');
  const recent = await createLoginIntent(service, tenant, { maxAgeSeconds: 600 });
  expect(await answer(recent)).toHaveProperty('redirectUrl');
  const other = await createTestUser(service);
  const stolen = { provider: 'acme', issuer: identity.issuer, subject: identity.subject };
  const taken = linkIdentity(call, stolen, { userId: other.id, email: other.email });
  expect(await reasonOf(taken)).toBe('IDENTITY_ALREADY_LINKED');
  const userId = user.id;
  expect(await listUserIdentities(call, { userId })).toMatchObject([stolen]);
  await deleteUserIdentity(call, { userId, ...stolen });
  expect(await listUserIdentities(call, { userId })).toEqual([]);
}
