/** Every statement of remembered sign-ins, for tests that go over all statements. */
import type { Call } from '../../src/domain/core/call.ts';
import { requireOpenIntent } from '../../src/domain/login/login-intent.ts';
import type { AuthTokens } from '../../src/domain/tokens/auth-tokens.ts';
import { completeRememberedLogin } from '../../src/modules/remembered-sign-ins/domain/complete-remembered-login.ts';
import { findRememberedSignIn } from '../../src/modules/remembered-sign-ins/domain/find-remembered-sign-in.ts';
import { findRememberedUser } from '../../src/modules/remembered-sign-ins/domain/find-remembered-user.ts';
import { forgetSignIn } from '../../src/modules/remembered-sign-ins/domain/forget-sign-in.ts';
import { rememberSignIn } from '../../src/modules/remembered-sign-ins/domain/remember-sign-in.ts';
import { newBrowser } from './new-browser.ts';
import { createLoginIntent, createTestUser, type Tenant } from './service.ts';

/** The application must share sign-ins. */
export async function useRememberedSignIns(
  call: Call,
  tokens: AuthTokens,
  { service, tenant }: { readonly service: { readonly url: string }; readonly tenant: Tenant },
): Promise<void> {
  const browser = newBrowser();
  const settings = { singleSignOnMaxAgeSeconds: 3_600, sessionMaxAgeSeconds: 3_600, tokens };
  const { id: userId } = await createTestUser(service);
  const signIn = {
    applicationId: tenant.id,
    userId,
    method: 'email',
    assurance: 1,
    authenticatedAt: call.now,
  } as const;
  const former = { formerToken: 'A'.repeat(43), maxAgeSeconds: 3_600 };
  const token = (await rememberSignIn(call, browser, signIn, former)) ?? '';
  const loginIntentId = await createLoginIntent(service, tenant);
  await findRememberedSignIn(call, settings, await requireOpenIntent(call, loginIntentId), token);
  await findRememberedUser(call, token);
  await completeRememberedLogin(call, settings, browser, token, { loginIntentId });
  await findRememberedUser(call, token);
  await forgetSignIn(call, token);
}
